#include "autograd/transforms/checkpoint.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/random.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using Stretch = std::function<Tensors(const Tensors&)>;

Tensor normal_leaf(const Shape& shape, uint64_t seed, DType dtype = f32) {
  Generator draws(seed);
  return randn(shape, dtype, draws).requires_grad_();
}

std::vector<std::byte> bits(const Tensor& x) {
  const auto* raw = static_cast<const std::byte*>(x.raw());
  return {raw, raw + x.numel() * size_of(x.dtype())};
}

/// The output and the leaves' gradients of a loss that runs its part through `run`.
using Runner = std::function<Tensors(const Stretch&, const Tensors&)>;
using Model = std::function<Tensor(const Runner& run)>;

Tensors values_and_gradients(const Model& model, const Tensors& leaves, const Runner& run) {
  manual_seed(5);
  for (Tensor normal_leaf : leaves) normal_leaf.zero_grad();
  const Tensor loss = model(run);
  loss.backward();
  Tensors all{loss.detach()};
  for (const Tensor& normal_leaf : leaves) all.push_back(normal_leaf.grad());
  return all;
}

Tensors plainly(const Stretch& fn, const Tensors& inputs) { return fn(inputs); }
Tensors checkpointed(const Stretch& fn, const Tensors& inputs) { return checkpoint(fn, inputs); }

void expect_same_bits(const Model& model, const Tensors& leaves) {
  const Tensors plain = values_and_gradients(model, leaves, plainly);
  const uint64_t draws = generator(Stream::dropout).counter();
  const Tensors again = values_and_gradients(model, leaves, checkpointed);
  EXPECT_EQ(generator(Stream::dropout).counter(), draws) << "recomputation must not advance the streams";
  ASSERT_EQ(plain.size(), again.size());
  for (size_t i = 0; i < plain.size(); ++i) {
    ASSERT_EQ(plain[i].defined(), again[i].defined()) << i;
    if (plain[i].defined()) {
      EXPECT_EQ(bits(plain[i]), bits(again[i])) << (i ? "gradient of leaf " : "loss ") << i;
    }
  }
}

TEST(Checkpoint, SavesOnlyTheInputs) {
  const Tensor x = normal_leaf({2, 3}, 1);
  const Tensor y = checkpoint([](const Tensors& in) { return exp(tanh(in[0])); }, {x});
  EXPECT_TRUE(tensors_equal(y.detach(), exp(tanh(x.detach()))));
  const Node& node = *y.impl().node;
  EXPECT_STREQ(node.name(), "checkpoint");
  ASSERT_EQ(node.saved.size(), 1u);
  EXPECT_TRUE(node.saved[0].value.is(x));
  EXPECT_EQ(node.inputs[0].node.get(), x.impl().node.get());
}

TEST(Checkpoint, GivesBitwiseEqualGradients) {
  const Tensor x = normal_leaf({7, 9}, 1), w = normal_leaf({9, 9}, 2);
  expect_same_bits(
      [&](const Runner& run) {
        const auto block = [](const Tensors& in) {
          return Tensors{dropout(gelu(matmul(in[0], in[1])), 0.3) + in[0] * in[0]};
        };
        return sum(square(run(block, {run(block, {x, w})[0], w})[0])) + sum(x * 3);
      },
      {x, w});
}

/// Float sums depend on their order: contributions to a leaf from inside and outside must arrive in the same order.
TEST(Checkpoint, SumsInTheSameOrder) {
  const Tensor x = normal_leaf({31}, 1), w = normal_leaf({31}, 2);
  expect_same_bits(
      [&](const Runner& run) {
        Tensor h = x * w;
        for (double scale : {1e4, 1.0, 1e-3}) {
          h = h * w + x;
          h = run([w, x, scale](const Tensors& in) { return Tensors{sin(in[0] * w) * scale + in[0] * x - w}; },
                  {h})[0] +
              h * w;
        }
        return sum(h * x);
      },
      {x, w});
}

TEST(Checkpoint, FindsCapturedNonLeaves) {
  const Tensor x = normal_leaf({5}, 1), w = normal_leaf({5}, 2);
  expect_same_bits(
      [&](const Runner& run) {
        const Tensor h = exp(w);
        return sum(run([h, w](const Tensors& in) { return Tensors{in[0] * h + h * w}; }, {x})[0] * h);
      },
      {x, w});
}

TEST(Checkpoint, FindsWhatOnlyInPlaceOperationsUse) {
  const Tensor x = normal_leaf({2, 3}, 1).detach();
  const auto gradient = [&](const auto& write) {
    const Tensor w = normal_leaf({2, 3}, 2);
    const auto part = [&](const Tensors& in) {
      Tensor h = in[0].clone();
      write(h, w);
      return h * h;
    };
    sum(checkpoint(std::function<Tensor(const Tensors&)>(part), {x})).backward();
    const Tensor found = w.grad();
    Tensor plain = w.detach().clone().requires_grad_();
    Tensor h = x * 1;
    write(h, plain);
    sum(h * h).backward();
    EXPECT_TRUE(found.defined() && allclose(found, plain.grad()));
  };
  gradient([](Tensor& h, const Tensor& w) { h += w; });
  gradient([](Tensor& h, const Tensor& w) { h *= w; });
  gradient([](Tensor& h, const Tensor& w) { h.add_(w, 2); });
  gradient([](Tensor& h, const Tensor& w) { h.copy_(w); });
  // A captured tensor may be the result itself.
  const Tensor w = normal_leaf({2}, 3);
  sum(checkpoint(std::function<Tensor(const Tensors&)>([&](const Tensors&) { return w; }), {x}) * 3).backward();
  EXPECT_TRUE(tensors_equal(w.grad(), tensor({3, 3})));
}

TEST(Checkpoint, SupportsSeveralInputsAndOutputs) {
  const Tensor x = normal_leaf({4, 6}, 1), y = normal_leaf({4, 6}, 2), unused = normal_leaf({2}, 3);
  const Tensor ids = tensor({1, 0, 3}, i64);
  expect_same_bits(
      [&](const Runner& run) {
        const Tensors out = run(
            [](const Tensors& in) {
              EXPECT_FALSE(in[2].defined());
              const TopK best = topk(in[0] * in[1], 2);
              // An output used inside, one without gradient, an unchanged input, and one output twice.
              return Tensors{best.values, best.indices, index_select(in[0], 0, in[3]), in[1], best.values, Tensor()};
            },
            {x, y, Tensor(), ids, unused});
        EXPECT_EQ(out[1].dtype(), i64);
        EXPECT_FALSE(out[1].requires_grad());
        EXPECT_FALSE(out[5].defined());
        return sum(out[0] * 3) + sum(square(out[2])) + sum(out[3] * x) + sum(exp(out[4]));
      },
      {x, y, unused});
}

TEST(Checkpoint, SupportsUnusedOutputs) {
  const Tensor x = normal_leaf({4}, 1), w = normal_leaf({4}, 2);
  expect_same_bits(
      [&](const Runner& run) {
        return sum(run([&](const Tensors& in) { return Tensors{exp(in[0]), in[0] * w, w * 2}; }, {x})[0]);
      },
      {x, w});
}

TEST(Checkpoint, MayBeNested) {
  const Tensor x = normal_leaf({6, 6}, 1), w = normal_leaf({6, 6}, 2);
  expect_same_bits(
      [&](const Runner& run) {
        const Stretch inner = [w](const Tensors& in) { return Tensors{dropout(tanh(matmul(in[0], w)), 0.4)}; };
        const Stretch outer = [&run, inner, w](const Tensors& in) {
          const Tensor h = run(inner, {dropout(in[0], 0.2)})[0];
          return Tensors{run(inner, {h * w})[0] + in[0]};
        };
        return sum(square(run(outer, {run(outer, {x})[0]})[0]));
      },
      {x, w});
}

TEST(Checkpoint, SupportsInputsWithoutGradients) {
  const Tensor x = normal_leaf({3, 4}, 1).detach(), w = normal_leaf({4, 4}, 2);
  expect_same_bits(
      [&](const Runner& run) {
        return sum(square(run([&](const Tensors& in) { return Tensors{matmul(in[0], w)}; }, {x})[0]));
      },
      {w});
  const Tensor y = checkpoint([](const Tensors& in) { return exp(in[0]); }, {x});
  EXPECT_FALSE(y.requires_grad());
  const NoGrad no_grad;
  EXPECT_FALSE(checkpoint([](const Tensors& in) { return exp(in[0]); }, {w}).requires_grad());
}

TEST(Checkpoint, RecomputesUnderTheSameScopes) {
  const Tensor q = normal_leaf({1, 3, 4}, 1);
  std::vector<std::string> seen;
  const auto look = [&](const Tensors& in) {
    const ModuleScope module("attention");
    seen.push_back(fmt::format("{} {} {}", ModuleScope::path(), Composed::active(), Trace::active()));
    const Tensor y = scaled_dot_product_attention(in[0], in[0], in[0]);
    if (y.requires_grad()) {
      seen.push_back(fmt::format("{} {}", y.impl().node->name(), y.impl().node->trace ? "traced" : "untraced"));
    }
    return y;
  };
  Tensor plain, composed;
  {
    const ModuleScope module("encoder");
    plain = checkpoint(look, {q});
    const Composed unfused;
    const Trace trace;
    composed = checkpoint(look, {q});
  }
  const ModuleScope elsewhere("elsewhere");
  composed.backward({.gradient = ones({1, 3, 4})});
  const Composed unfused;
  plain.backward({.gradient = ones({1, 3, 4})});
  EXPECT_EQ(ModuleScope::path(), "elsewhere");
  EXPECT_TRUE(Composed::active());
  EXPECT_EQ(seen, (std::vector<std::string>{"encoder.attention false false", "encoder.attention true true",
                                            "encoder.attention true true", "reshape traced",
                                            "encoder.attention false false", "scaled_dot_product_attention untraced"}));
}

TEST(Checkpoint, SupportsGradOfSomeInputs) {
  const Tensor x = normal_leaf({5}, 1, f64), w = normal_leaf({5}, 2, f64), other = normal_leaf({5}, 3, f64);
  const auto block = [&](const Tensors& in) { return sin(in[0] * w) * exp(other); };
  const Tensor h = x * 2;
  const Tensors plain = grad({sum(block({h}) * h)}, {w, h}, {});
  const Tensors again = grad({sum(checkpoint(block, {h}) * h)}, {w, h}, {});
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(bits(plain[i]), bits(again[i])) << i;
  EXPECT_FALSE(w.grad().defined());
  EXPECT_FALSE(other.grad().defined());
  EXPECT_TAPE_ERROR(grad({sum(checkpoint(block, {h}))}, {normal_leaf({2}, 4)}), ErrorKind::graph,
                    "grad: the outputs do not depend on input 0 [2]; pass allow_unused to accept that");
}

TEST(Checkpoint, SupportsSecondDerivatives) {
  const Tensor w = normal_leaf({3, 3}, 2, f64);
  const auto block = [&](const Tensors& in) { return tanh(matmul(in[0], w)) * in[1]; };
  const Tensors inputs{normal_leaf({2, 3}, 3, f64).detach(), normal_leaf({2, 3}, 4, f64).detach()};
  EXPECT_TRUE(gradients_match(gradgradcheck([&](const Tensors& in) { return checkpoint(block, in); }, inputs)));
  // Also with respect to captured tensors.
  const auto second = [&](const Runner& run) {
    const Tensor y = run([&](const Tensors& in) { return Tensors{block(in)}; }, inputs)[0];
    const Tensor first = grad({sum(square(y))}, {w}, {.create_graph = true})[0];
    return grad({sum(square(first))}, {w})[0];
  };
  EXPECT_TRUE(tensors_near(second(checkpointed), second(plainly), 1e-13));
}

TEST(Checkpoint, SupportsRetainGraph) {
  const Tensor x = normal_leaf({4}, 1);
  const Tensor loss = sum(checkpoint([](const Tensors& in) { return exp(in[0]) * in[0]; }, {x}));
  loss.backward({.retain_graph = true});
  const Tensor once = x.grad().clone();
  loss.backward();
  EXPECT_EQ(bits(x.grad()), bits(once * 2));
  EXPECT_TAPE_ERROR(loss.backward(), ErrorKind::graph,
                    "backward: the saved values of 'sum' were freed by an earlier backward; pass retain_graph "
                    "to that one");
}

TEST(Checkpoint, SupportsHooksAndRetainedGradientsOfTheOutput) {
  const Tensor x = normal_leaf({3}, 1);
  Tensor y = checkpoint([](const Tensors& in) { return in[0] * 2; }, {x});
  y.retain_grad();
  y.register_hook([](const Tensor& g) { return g * 10; });
  sum(y).backward();
  EXPECT_TRUE(tensors_equal(y.grad(), full({3}, 10)));
  EXPECT_TRUE(tensors_equal(x.grad(), full({3}, 20)));
}

TEST(Checkpoint, RefusesAFunctionWithChangedOutputs) {
  const Tensor x = normal_leaf({3}, 1);
  int runs = 0;
  const auto grows = [&](const Tensors& in) { return expand(in[0], {++runs, 3}); };
  EXPECT_TAPE_ERROR(sum(checkpoint(grows, {x})).backward(), ErrorKind::graph,
                    "backward of 'checkpoint': the function returned f32 [2, 3] in its second run, f32 [1, 3] in the "
                    "first");
  runs = 0;
  const Stretch more = [&](const Tensors& in) { return Tensors(static_cast<size_t>(++runs), in[0]); };
  EXPECT_TAPE_ERROR(sum(checkpoint(more, {x})[0]).backward(), ErrorKind::graph,
                    "backward of 'checkpoint': the function returned 2 outputs with gradients in its second run, 1 in "
                    "the first");
}

TEST(Checkpoint, RefusesChangedTensors) {
  const Tensor x = normal_leaf({3}, 1);
  Tensor w = normal_leaf({3}, 2);
  const Tensor loss = sum(checkpoint([&](const Tensors& in) { return in[0] + w; }, {x}));
  {
    const NoGrad no_grad;
    w.add_(x);
  }
  EXPECT_TAPE_ERROR(loss.backward(), ErrorKind::graph,
                    fmt::format("backward of 'checkpoint': a saved value [3] was modified in place "
                                "(version {}, saved at version {})",
                                w.version(), w.version() - 1));
}

TEST(Checkpoint, RestoresStreamsAndScopesAfterAnError) {
  const Tensor x = normal_leaf({3}, 1);
  int runs = 0;
  const Tensor loss = sum(checkpoint(
      [&](const Tensors& in) {
        const Tensor y = dropout(in[0], 0.5);
        return ++runs == 1 ? y : matmul(y, ones({2, 2}));
      },
      {x}));
  generator(Stream::dropout).set_state(9, 1000);
  EXPECT_THROW(loss.backward(), Error);
  EXPECT_EQ(generator(Stream::dropout).seed(), 9u);
  EXPECT_EQ(generator(Stream::dropout).counter(), 1000u);
  EXPECT_TRUE(grad_enabled());
}

TEST(Checkpoint, KeepsOneSegmentInMemoryAtATime) {
  constexpr int64_t kParts = 8, kSteps = 10, kBytes = 4 << 16;
  const Tensor x = normal_leaf({1 << 16}, 1);
  const auto part = [](const Tensors& in) {
    Tensor h = in[0];
    for (int64_t i = 0; i < kSteps; ++i) h = sin(h);  // each saves its input
    return Tensors{h};
  };
  // Peak memory of a step above the start, in tensors of x's size.
  const auto peak = [&](const Runner& run) {
    Tensor(x).zero_grad();
    const int64_t before = memory_stats().live_bytes;
    reset_peak_memory();
    Tensor h = x;
    for (int64_t i = 0; i < kParts; ++i) h = run(part, {h})[0];
    sum(h).backward();
    return static_cast<double>(memory_stats().peak_bytes - before) / static_cast<double>(kBytes);
  };
  const double plain = peak(plainly), less = peak(checkpointed);
  EXPECT_GE(plain, kParts * kSteps);
  // The inputs of the segments, the steps of one segment, and gradients in flight.
  EXPECT_LE(less, kParts + kSteps + 4);
}

}  // namespace
}  // namespace tape
