#include "autograd/transforms/rematerialize.h"

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/saved_tensor_hooks.h"
#include "autograd/tape/tape.h"
#include "autograd/transforms/checkpoint.h"
#include "inspect/saved_tensors.h"
#include "tests/autograd/tape/sample_derivatives.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

constexpr int64_t kEverything = 0;
constexpr int64_t kRows = 64, kCols = 32, kOneTensor = kRows * kCols * 4;

Tensor input_of(const Shape& shape = {kRows, kCols}, uint64_t seed = 1) {
  return sample_normal(shape, seed).to(f32).requires_grad_();
}

/// Number of bytes that the tape retains, excluding leaves.
int64_t kept(const Tensor& loss) { return saved_tensors(loss).bytes; }

/// Expects bitwise equal results of gradient() with and without the scope.
template <class Gradient>
void expect_same_in_scope(const Gradient& gradient) {
  const Tensor wanted = gradient();
  const Rematerialize scope(kEverything);
  EXPECT_TRUE(tensors_equal(gradient(), wanted));
}

/// For every operation applied to a recomputed value, first and second derivatives are bitwise equal with and without
/// the scope.
TEST(Rematerialize, DoesNotChangeGradients) {
  size_t made_again = 0;
  for (const Op* op : registered_ops()) {
    if (!op->recompute()) continue;
    ++made_again;
    for (const OpSample& sample : op->samples()) {
      SCOPED_TRACE(std::string(op->name()) + ": " + sample.label);
      const auto derivatives = [&] {
        return sample_derivatives(sample, [](const Tensor& y) { return sum(square(y)) + sum(silu(y * gelu(y))); });
      };
      const Tensors wanted = derivatives();
      const Rematerialize scope(kEverything);
      expect_same_derivatives(derivatives(), wanted);
    }
  }
  EXPECT_EQ(made_again, 6u);
}

/// Each retained value is a tensor of x's size.
TEST(Rematerialize, RetainsNoOutputOfActivationsAndNorms) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2), scale = input_of({kCols}, 3);
  const auto activated = [&](Tensor (*f)(const Tensor&)) { return mean(linear(f(x * 1.0), weight)); };
  const auto gated = [&] { return mean(linear(silu(x * 1.0) * (x * 2.0), weight)); };
  const auto normalized = [&] {
    const Tensor n = layer_norm(x * 1.0, scale, {}, 1e-5);
    return mean(linear(n, weight) + linear(n, weight));
  };
  const int64_t row_numbers = 2 * kRows * 4;
  EXPECT_EQ(kept(activated(gelu)), 2 * kOneTensor);
  EXPECT_EQ(kept(gated()), 4 * kOneTensor);
  EXPECT_EQ(kept(normalized()), 2 * kOneTensor + row_numbers);
  const Rematerialize scope(kEverything);
  for (const auto f : {gelu, gelu_tanh, silu}) EXPECT_EQ(kept(activated(f)), kOneTensor);
  EXPECT_EQ(kept(activated(relu)), kOneTensor);  // it saves its own output
  EXPECT_EQ(kept(gated()), 2 * kOneTensor);
  EXPECT_EQ(kept(normalized()), kOneTensor + row_numbers);
}

TEST(Rematerialize, RecomputesAValueOnceForAllOperationsThatSavedIt) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const auto requests = [&] {
    const Tensor y = gelu(x);
    const Tensor loss = mean(linear(y, weight) + linear(y, weight) + linear(y, weight));
    const int64_t before = memory_stats().requests;
    loss.backward();
    return memory_stats().requests - before;
  };
  requests();
  const int64_t without = requests();
  const Rematerialize scope(kEverything);
  EXPECT_EQ(requests() - without, 1);
}

TEST(Rematerialize, ReleasesRecomputedValues) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const Rematerialize scope(kEverything);
  const int64_t before = memory_stats().live_bytes;
  {
    const Tensor loss = mean(linear(gelu(x), weight));
    loss.backward();
    x.impl().node->outputs[0].grad = {};
    weight.impl().node->outputs[0].grad = {};
    EXPECT_LT(memory_stats().live_bytes - before, kOneTensor / 2);
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(Rematerialize, SupportsRepeatedBackwards) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const Rematerialize scope(kEverything);
  const Tensor loss = mean(linear(gelu(x), weight));
  const Tensor first = grad({loss}, {weight}, {.retain_graph = true})[0];
  EXPECT_TRUE(tensors_equal(grad({loss}, {weight})[0], first));
}

/// One operation that saved the value runs backward after the node that produced it was freed.
TEST(Rematerialize, WorksAfterTheOperationWasFreed) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  expect_same_in_scope([&] {
    const Tensor y = gelu(x);
    const Tensor one = mean(linear(y, weight)), other = mean(linear(y, weight) * 2.0);
    grad({one}, {x});
    return grad({other}, {weight})[0];
  });
}

TEST(Rematerialize, AppliesAtRecordingTimeAndPerThread) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const auto bytes = [&] { return kept(mean(linear(gelu(x * 1.0), weight))); };
  {
    const Rematerialize scope(kEverything);
    EXPECT_EQ(bytes(), kOneTensor);
    {
      const Rematerialize larger_ones(kOneTensor + 1);
      EXPECT_EQ(bytes(), 2 * kOneTensor);
      const Rematerialize as_large(kOneTensor);
      EXPECT_EQ(bytes(), kOneTensor);
    }
    EXPECT_EQ(bytes(), kOneTensor);
    std::thread([&] { EXPECT_EQ(bytes(), 2 * kOneTensor); }).join();
  }
  EXPECT_EQ(bytes(), 2 * kOneTensor);
  const Rematerialize of_two_mebibytes;
  EXPECT_EQ(bytes(), 2 * kOneTensor);
}

/// A chain is recomputed in short pieces, so no depth is too large.
TEST(Rematerialize, RetainsEveryFifthValueOfAChain) {
  const Tensor x = input_of();
  const auto chain = [&](int length) {
    Tensor y = gelu(x * 1.0);
    for (int i = 1; i < length; ++i) y = silu(y);
    return mean(square(y));
  };
  const int64_t without = kept(chain(20));
  const Tensor wanted = grad({chain(20)}, {x})[0];
  const Rematerialize scope(kEverything);
  EXPECT_EQ(without, 21 * kOneTensor);
  EXPECT_EQ(kept(chain(20)), 5 * kOneTensor);
  EXPECT_TRUE(tensors_equal(grad({chain(20)}, {x})[0], wanted));
  grad({chain(20000)}, {x});
}

/// Its values are no longer what the operation would compute.
TEST(Rematerialize, RetainsValuesChangedInPlace) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  expect_same_in_scope([&] {
    Tensor y = gelu(x);
    y.mutable_data<float>()[0] = 7;
    const Tensor loss = mean(linear(y, weight));
    return grad({loss}, {weight})[0];
  });
}

TEST(Rematerialize, DetectsAnOperandChangedInPlace) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const Rematerialize scope(kEverything);
  Tensor inner = x * 1.0;
  const Tensor loss = mean(linear(gelu(inner), weight));
  inner.mutable_data<float>()[0] = 7;
  EXPECT_TAPE_ERROR(grad({loss}, {weight}), ErrorKind::graph,
                    "backward of 'linear': a value [64, 32] needed to recompute a saved value was modified in place "
                    "(version 2, saved at version 1)");
}

/// Recomputation ignores the scope of the backward, such as Composed or NoGrad.
TEST(Rematerialize, RecomputesEqualValuesInAnyScopeOfTheBackward) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const auto loss = [&] { return mean(linear(layer_norm(x, {}, {}, 1e-5), weight)); };
  const Tensor wanted = grad({loss()}, {weight})[0];
  Tensor remade;
  {
    const Rematerialize scope(kEverything);
    remade = loss();
  }
  const Composed composed;
  EXPECT_TRUE(tensors_equal(grad({remade}, {weight})[0], wanted));
}

TEST(Rematerialize, LetsSavedTensorHooksTakePrecedence) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  int packed = 0;
  const Rematerialize scope(kEverything);
  const SavedTensorHooks hooks([&](const Tensor& value) { return ++packed, std::any(value); },
                               [](const std::any& value) { return std::any_cast<Tensor>(value); });
  const Tensor loss = mean(linear(gelu(x * 1.0), weight));
  EXPECT_EQ(packed, 2);
  grad({loss}, {weight});
}

TEST(Rematerialize, WorksWithCheckpoints) {
  const Tensor x = input_of(), weight = input_of({kCols, kCols}, 2);
  const auto part = [&](const Tensors& in) { return linear(gelu(in[0]), weight); };
  const Tensor wanted = grad({mean(part({x}))}, {weight})[0];
  const Rematerialize scope(kEverything);
  EXPECT_TRUE(tensors_equal(grad({mean(checkpoint(part, {gelu(x)}))}, {x})[0], grad({mean(part({gelu(x)}))}, {x})[0]));
  EXPECT_TRUE(tensors_equal(grad({mean(checkpoint(part, {x}))}, {weight})[0], wanted));
}

}  // namespace
}  // namespace tape
