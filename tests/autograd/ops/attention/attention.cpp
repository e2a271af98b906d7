#include "autograd/ops/attention/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "autograd/gradcheck/gradcheck.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/attention/attention_call.h"
#include "autograd/ops/attention/heads.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/repeat.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

struct Operands {
  Tensor query, key, value;
};
Operands operands(const Shape& lead, int64_t Tq, int64_t Tk, int64_t D, int64_t Dv, DType dtype = f64) {
  const auto make = [&](int64_t length, int64_t width, uint64_t seed) {
    std::vector<int64_t> sizes = lead.to_vector();
    sizes.insert(sizes.end(), {length, width});
    return sample_normal(Shape(sizes), seed).to(dtype);
  };
  return {make(Tq, D, 1), make(Tk, D, 2), make(Tk, Dv, 3)};
}

/// softmax(Q K^T / sqrt(D)) V with scores masked where `visible` is false.
Tensor by_hand(const Operands& in, const Tensor& visible = {}) {
  Tensor scores = matmul(in.query, in.key, {.transpose_b = true}) / std::sqrt(static_cast<double>(in.query.size(-1)));
  if (visible.defined()) scores = masked_fill(scores, logical_not(visible), -INFINITY);
  return matmul(softmax(scores, -1), in.value);
}

Tensor attend(const Operands& in, const AttentionOptions& options = {}) {
  return scaled_dot_product_attention(in.query, in.key, in.value, options);
}

TEST(Attention, AgreesWithPyTorch) {
  expect_case(reference::attention_causal, {{2, 2, 3, 4}, {2, 2, 3, 4}, {2, 2, 3, 2}}, [](const Tensors& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], {.mask = Mask::causal()});
  });
  expect_case(reference::attention_additive, {{2, 3, 4}, {2, 5, 4}, {2, 5, 2}, {3, 5}}, [](const Tensors& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], {.mask = Mask::additive(in[3])});
  });
}

TEST(Attention, MatchesTheFormulaForManySizes) {
  for (const Shape& lead : {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 1, 2}})
    for (const int64_t Tq : {1, 5, 33})
      for (const int64_t Tk : {1, 4, 70}) {
        const Operands in = operands(lead, Tq, Tk, 8, 6);
        EXPECT_TRUE(tensors_near(attend(in), by_hand(in), 1e-12)) << to_string(lead) << " " << Tq << " " << Tk;
      }
}

TEST(Attention, F32AgreesWithF64) {
  const Operands in = operands({2, 2}, 65, 130, 32, 32);
  const Operands rounded = {in.query.to(f32), in.key.to(f32), in.value.to(f32)};
  for (const Mask& mask : {Mask(), Mask::causal(65)})
    EXPECT_TRUE(tensors_near(attend(rounded, {.mask = mask}).to(f64), attend(in, {.mask = mask}), 1e-5));
}

TEST(Attention, HasCorrectGradientsForLongSequences) {
  // Longer than a kernel block, so that several blocks are combined.
  const Operands in = operands({1, 2}, 70, 131, 8, 4);
  for (const Mask& mask : {Mask(), Mask::causal(60)}) {
    Tensors leaves{in.query.clone().requires_grad_(), in.key.clone().requires_grad_(),
                   in.value.clone().requires_grad_()};
    const auto gradients = [&] {
      const Tensor y = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], {.mask = mask});
      return grad({sum(y * sample_normal(y.shape(), 9))}, leaves);
    };
    const Tensors fused = gradients();
    const Composed composed;
    const Tensors unfused = gradients();
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(tensors_near(fused[i], unfused[i], 1e-10)) << i;
  }
}

TEST(AttentionMask, CausalHidesTheFuture) {
  const Operands in = operands({2}, 4, 4, 3, 2);
  const Tensor i = unsqueeze(arange(4), 1), j = arange(4);
  EXPECT_TRUE(tensors_near(attend(in, {.mask = Mask::causal()}), by_hand(in, le(j, i)), 1e-12));
  const Operands cached = operands({2}, 2, 5, 3, 2);
  EXPECT_TRUE(tensors_near(attend(cached, {.mask = Mask::causal(3)}),
                           by_hand(cached, le(arange(5), unsqueeze(arange(2), 1) + 3)), 1e-12));
}

TEST(AttentionMask, PaddingHidesKeys) {
  const Operands in = operands({2, 3}, 4, 5, 3, 2);
  const Tensor ids = tensor({{7, 8, 9, 0, 0}, {7, 8, 9, 1, 2}}, i64);
  const Tensor visible = reshape(ne(ids, 0), {2, 1, 1, 5});
  EXPECT_TRUE(tensors_near(attend(in, {.mask = Mask::padding(ids, 0)}), by_hand(in, visible), 1e-12));
}

TEST(AttentionMask, CombinedMasksHideWhatEitherHides) {
  const Operands in = operands({2, 1}, 3, 3, 2, 2);
  const Tensor ids = tensor({{7, 8, 0}, {7, 8, 9}}, i64);
  const Tensor visible = logical_and(reshape(ne(ids, 0), {2, 1, 1, 3}), le(arange(3), unsqueeze(arange(3), 1)));
  EXPECT_TRUE(tensors_near(attend(in, {.mask = Mask::causal() & Mask::padding(ids, 0)}), by_hand(in, visible), 1e-12));
}

TEST(AttentionMask, GivesZerosForQueriesWithoutVisibleKeys) {
  const Operands in = operands({1, 1}, 2, 3, 2, 2);
  const Tensor keep = tensor({{0, 0, 0}, {1, 0, 1}}, boolean);
  Tensors leaves{in.query.clone().requires_grad_(), in.key.clone().requires_grad_(), in.value.clone().requires_grad_()};
  const auto check = [&] {
    const auto both =
        scaled_dot_product_attention_with_weights(leaves[0], leaves[1], leaves[2], {.mask = Mask::keep(keep)});
    EXPECT_TRUE(tensors_equal(both.output[0][0][0], zeros({2}, f64)));
    EXPECT_TRUE(tensors_equal(both.weights[0][0][0], zeros({3}, f64)));
    EXPECT_EQ(both.weights[0][0][1][1].item(), 0);
    const Tensors g = grad({sum(both.output)}, leaves);
    EXPECT_TRUE(tensors_equal(g[0][0][0][0], zeros({2}, f64)));
    for (const Tensor& gradient : g) EXPECT_EQ(sum(ne(gradient, gradient)).item(), 0) << "NaN";
    EXPECT_TRUE(tensors_equal(g[2][0][0][1], zeros({2}, f64)));
  };
  check();
  const Composed composed;
  check();
}

TEST(AttentionMask, HidesHugeScores) {
  const Operands in = operands({1, 1}, 2, 3, 2, 2);
  Tensor key = in.key.clone();
  key[0][0][2].fill_(1e300);
  const Tensor keep = tensor({1, 1, 0}, boolean);
  EXPECT_TRUE(tensors_near(scaled_dot_product_attention(in.query, key, in.value, {.mask = Mask::keep(keep)}),
                           attend(in, {.mask = Mask::keep(keep)}), 1e-12));
}

TEST(Attention, ReturnsTheWeightsOfItsOutput) {
  const Operands in = operands({2, 2}, 3, 4, 2, 5);
  const auto both = scaled_dot_product_attention_with_weights(in.query, in.key, in.value);
  ASSERT_EQ(both.weights.shape(), Shape({2, 2, 3, 4}));
  EXPECT_TRUE(tensors_near(sum(both.weights, -1), ones({2, 2, 3}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(matmul(both.weights, in.value), both.output, 1e-12));
  EXPECT_EQ(scaled_dot_product_attention_with_weights(in.query[0][0], in.key[0][0], in.value[0][0]).weights.shape(),
            Shape({3, 4}));
}

TEST(Attention, UsesTheGivenScale) {
  const Operands in = operands({}, 3, 4, 4, 2);
  EXPECT_TRUE(tensors_near(attend(in, {.scale = 0.5}), attend(in), 1e-14));
  EXPECT_TRUE(tensors_near(attend(in, {.scale = 1}), by_hand({in.query * 2, in.key, in.value}), 1e-12));
}

TEST(Attention, DropsTheSameWeightsFusedAndComposed) {
  const Operands in = operands({2, 2}, 5, 7, 3, 2);
  generator(Stream::dropout).set_state(4, 0);
  const Tensor fused = attend(in, {.dropout = 0.5});
  EXPECT_EQ(generator(Stream::dropout).counter(), 2u * 2 * 5 * 7);
  EXPECT_FALSE(tensors_near(fused, attend(in), 1e-3));
  generator(Stream::dropout).set_state(4, 0);
  const Composed composed;
  EXPECT_TRUE(tensors_near(attend(in, {.dropout = 0.5}), fused, 1e-12));
}

TEST(MultiHead, IsAttentionOfEachHead) {
  const int64_t heads = 3;
  const Tensor q = sample_normal({2, 4, 6}, 1), k = sample_normal({2, 5, 6}, 2), v = sample_normal({2, 5, 9}, 3);
  const auto apart = [&](const Tensor& x) {
    return permute(reshape(x, Shape{2, x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
  };
  const Tensor expected =
      reshape(permute(scaled_dot_product_attention(apart(q), apart(k), apart(v)), {0, 2, 1, 3}), {2, 4, 9});
  EXPECT_TRUE(tensors_near(multi_head_attention(q, k, v, heads), expected, 1e-12));
  EXPECT_EQ(multi_head_attention_with_weights(q, k, v, heads).weights.shape(), Shape({2, heads, 4, 5}));
}

TEST(MultiHead, ReadsOnlyTheCachedLength) {
  const Tensor q = randn({2, 3, 6}, f64), k = randn({2, 7, 6}, f64), v = randn({2, 7, 4}, f64);
  const Tensor keys = slice(k, 1, {.end = 5}), values = slice(v, 1, {.end = 5});
  for (const Mask& mask : {Mask(), Mask::causal(2), Mask::keep(tensor({1, 0, 1, 1, 0}, boolean))}) {
    const auto expected = multi_head_attention_with_weights(q, keys, values, 2, {.mask = mask});
    const auto found = multi_head_attention_with_weights(q, {k, v, 5}, 2, {.mask = mask});
    EXPECT_TRUE(tensors_equal(found.output, expected.output));
    EXPECT_TRUE(tensors_equal(found.weights, expected.weights));
    const Composed composed;
    EXPECT_TRUE(tensors_near(multi_head_attention(q, {k, v, 5}, 2, {.mask = mask}), expected.output, 1e-14));
  }
  for (const int64_t length : {-1, 8})
    EXPECT_TAPE_ERROR(
        multi_head_attention(q, {k, v, length}, 2), ErrorKind::config,
        fmt::format("multi_head_attention: the cached length {} is outside [0, 7], the key is [2, 7, 6]", length));
}

TEST(MultiHead, ReadsKeysFromSelectedRows) {
  const Tensor k = randn({4, 7, 4}, f64), v = randn({4, 7, 6}, f64);  // two key heads
  const Tensor rows = tensor({{3, 1, 1, 0, 2, 9}, {0, 0, 3, 3, 1, -9}}, i64);
  const Tensor keys = gather_kv(k, rows, 5), values = gather_kv(v, rows, 5);
  const Mask mask = Mask::keep(tensor({1, 0, 1, 1, 1}, boolean));
  for (const int64_t queries : {1, 2, 3}) {  // three queries with two heads are packed, and therefore copied
    const Tensor q = randn({2, queries, 8}, f64);
    const AttentionOptions options{.mask = mask, .enable_gqa = true};
    const KvCacheView cached{k, v, 5, rows};
    const auto expected = multi_head_attention_with_weights(q, keys, values, 4, options);
    const auto found = multi_head_attention_with_weights(q, cached, 4, options);
    EXPECT_TRUE(tensors_equal(found.output, expected.output)) << queries;
    EXPECT_TRUE(tensors_equal(found.weights, expected.weights)) << queries;
    EXPECT_TRUE(tensors_equal(multi_head_attention(q.to(f16), {k.to(f16), v.to(f16), 5, rows}, 4, options),
                              multi_head_attention(q.to(f16), keys.to(f16), values.to(f16), 4, options)));
    const Composed composed;
    EXPECT_TRUE(tensors_near(multi_head_attention(q, cached, 4, options), expected.output, 1e-14)) << queries;
  }
}

TEST(MultiHead, SendsGradientsToTheSelectedRows) {
  const Tensor rows = tensor({{1, 1, 2}, {0, 1, 0}}, i64);
  const auto f = [&](const Tensors& x) { return multi_head_attention(x[0], {x[1], x[2], 3, rows}, 1); };
  EXPECT_TRUE(gradients_match(
      gradcheck(f, {sample_normal({2, 1, 2}, 1), sample_normal({3, 3, 2}, 2), sample_normal({3, 3, 2}, 3)})));
}

TEST(MultiHead, ShowsObserversTheGatheredKeys) {
  struct Seen : Observer {
    void on_attention(AttentionCall& call) override {
      key = call.inputs[1];
      output = call.steps(call.inputs).output;
    }
    Tensor key, output;
  };
  const Tensor q = randn({2, 1, 2}, f64), k = randn({3, 4, 2}, f64), rows = tensor({{1, 1, 2}, {0, 1, 0}}, i64);
  const Seen seen;
  const Tensor y = multi_head_attention(q, {k, k, 3, rows}, 1);
  EXPECT_TRUE(tensors_equal(seen.key, gather_kv(k, rows, 3)));
  EXPECT_TRUE(tensors_near(seen.output, y, 1e-14));
}

TEST(MultiHead, RefusesInvalidRows) {
  const Tensor q = randn({2, 1, 2}), k = randn({3, 4, 2});
  const auto with = [&](const Tensor& rows) { return multi_head_attention(q, {k, k, 4, rows}, 1); };
  EXPECT_TAPE_ERROR(with(zeros({2, 4})), ErrorKind::dtype, "multi_head_attention: cache rows must be i64, got f32");
  for (const Shape& shape : {Shape{3, 4}, Shape{2, 3}, Shape{8}})
    EXPECT_TAPE_ERROR(with(zeros(shape, i64)), ErrorKind::shape,
                      fmt::format("multi_head_attention: cache rows {} must be [2, at least 4]", to_string(shape)));
  for (const int64_t row : {-1, 3})
    EXPECT_TAPE_ERROR(with(from_vector(std::vector<int64_t>{0, 1, 2, 0, 0, 0, row, 0}, {2, 4})), ErrorKind::index,
                      fmt::format("multi_head_attention: cache rows[1, 2] is {}, outside [0, 3)", row));
  EXPECT_TAPE_ERROR(multi_head_attention(q, k, k, 1), ErrorKind::shape,
                    "scaled_dot_product_attention: leading axes differ: query [2, 1, 2], key [3, 4, 2], value [3, 4, "
                    "2]");
}

/// Results of fused and composed attention for query, key and value: output, weights and the gradients of both.
Tensors by_backend(const Operands& in, const AttentionOptions& options) {
  generator(Stream::dropout).set_state(3, 5);
  const Tensors leaves{in.query.clone().requires_grad_(), in.key.clone().requires_grad_(),
                       in.value.clone().requires_grad_()};
  const auto both = scaled_dot_product_attention_with_weights(leaves[0], leaves[1], leaves[2], options);
  const Tensor head = sum(both.output * sample_normal(both.output.shape(), 9)) +
                      sum(both.weights * sample_normal(both.weights.shape(), 10));
  Tensors all = grad({head}, leaves);
  all.push_back(both.output.detach());
  all.push_back(both.weights.detach());
  return all;
}

TEST(Attention, AgreesForAWindowAndItsMask) {
  const Tensor ids = tensor({{0, 0, 1, 1, 1, 1, 1, 1, 1, 1}}, i64);
  for (const double dropout : {0.0, 0.3})
    for (const Mask& padding : {Mask(), Mask::padding(ids, 0), Mask::additive(sample_normal({10}, 7))})
      for (const Mask& window : {Mask::window(2, 0), Mask::window(0, 3), Mask::window(1, 1, 4), Mask::window(3, 4, 9),
                                 Mask::window(4, 9) & Mask::causal(1), Mask::window(3, 3, INT64_MAX),
                                 Mask::window(INT64_MAX, 0), Mask::causal(INT64_MAX)}) {
        const Operands in = operands({1, 2}, 9, 10, 4, 3);
        const Mask whole = Mask::keep(window.to_tensor(9, 10)) & padding;
        const Tensors wanted = by_backend(in, {.mask = whole, .dropout = dropout});
        const Tensors fused = by_backend(in, {.mask = window & padding, .dropout = dropout});
        const Composed composed;
        const Tensors unfused = by_backend(in, {.mask = window & padding, .dropout = dropout});
        for (size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_TRUE(tensors_near(fused[i], wanted[i], 1e-12)) << i;
          EXPECT_TRUE(tensors_near(unfused[i], wanted[i], 1e-12)) << i;
        }
      }
}

/// Repeats each head of keys or values for every query head that shares it.
Tensor repeated(const Tensor& x, int64_t times) { return repeat_interleave(x, times, 1); }

TEST(Attention, AgreesForGroupsAndRepeatedHeads) {
  for (const int64_t of_keys : {1, 2, 4})
    for (const Mask& mask : {Mask(), Mask::causal(3), Mask::window(2, 1)}) {
      const Operands in{sample_normal({2, 4, 5, 6}, 1), sample_normal({2, of_keys, 8, 6}, 2),
                        sample_normal({2, of_keys, 8, 3}, 3)};
      const Tensors fused = by_backend(in, {.mask = mask, .enable_gqa = true});
      const int64_t times = 4 / of_keys;
      const Tensors wanted = by_backend({in.query, repeated(in.key, times), repeated(in.value, times)}, {.mask = mask});
      // Query heads that share a key head add up their gradients.
      const auto added = [&](const Tensor& g) {
        return sum(reshape(g, Shape{2, of_keys, times, g.size(2), g.size(3)}), 2);
      };
      EXPECT_TRUE(tensors_near(fused[0], wanted[0], 1e-12));
      EXPECT_TRUE(tensors_near(fused[1], added(wanted[1]), 1e-12));
      EXPECT_TRUE(tensors_near(fused[2], added(wanted[2]), 1e-12));
      EXPECT_TRUE(tensors_near(fused[3], wanted[3], 1e-12));
      EXPECT_TRUE(tensors_near(fused[4], wanted[4], 1e-12));
    }
}

TEST(MultiHead, SharesPackedKeys) {
  const Tensor q = randn({2, 3, 8}, f64), k = randn({2, 5, 4}, f64), v = randn({2, 5, 6}, f64);
  const auto apart = [](const Tensor& x, int64_t heads) { return split_heads(x, heads); };
  const AttentionOptions options{.mask = Mask::causal(2), .enable_gqa = true};
  const Tensor expected = merge_heads(scaled_dot_product_attention(apart(q, 4), apart(k, 2), apart(v, 2), options));
  EXPECT_TRUE(tensors_near(multi_head_attention(q, k, v, 4, options), expected, 1e-13));
  const Composed composed;
  EXPECT_TRUE(tensors_near(multi_head_attention(q, k, v, 4, options), expected, 1e-13));
}

TEST(Attention, RoundsHalvesOnlyAtTheEnd) {
  const Operands in = operands({2, 2}, 5, 6, 8, 4);
  const Tensor bias = sample_normal({5, 6}, 7).to(f32);
  const Mask mask = Mask::causal(2) & Mask::keep(tensor({1, 1, 0, 1, 1, 1}, boolean)) & Mask::additive(bias);
  const auto check = [&](DType dtype) {
    const Tensors halves{in.query.to(dtype).requires_grad_(), in.key.to(dtype).requires_grad_(),
                         in.value.to(dtype).requires_grad_()};
    Tensors floats;
    for (const Tensor& x : halves) floats.push_back(x.detach().to(f32).requires_grad_());
    const auto of = [&](const Tensors& x) {
      generator(Stream::dropout).set_state(4, 0);
      return scaled_dot_product_attention_with_weights(x[0], x[1], x[2], {.mask = mask, .dropout = 0.2});
    };
    const AttentionResult found = of(halves), wanted = of(floats);
    EXPECT_TRUE(tensors_equal(found.output, wanted.output.to(dtype)));
    EXPECT_TRUE(tensors_equal(found.weights, wanted.weights.to(dtype)));
    const Tensors gradients = grad({sum(found.output)}, halves), expected = grad({sum(wanted.output)}, floats);
    for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(tensors_equal(gradients[i], expected[i].to(dtype))) << i;
    const AttentionOptions plain;
    EXPECT_TRUE(tensors_equal(multi_head_attention(halves[0][0], halves[1][0], halves[2][0], 2, plain),
                              multi_head_attention(floats[0][0], floats[1][0], floats[2][0], 2, plain).to(dtype)));
  };
  for (const DType dtype : {bf16, f16}) {
    check(dtype);
    const Composed composed;
    check(dtype);
  }
  EXPECT_TAPE_ERROR(scaled_dot_product_attention(in.query.to(bf16), in.key.to(f32), in.value.to(bf16)),
                    ErrorKind::dtype, "scaled_dot_product_attention: dtypes differ: bf16 and f32");
}

TEST(Attention, AcceptsOnlyFloatingTensors) {
  const Tensor x = zeros({2, 3, 4}, i64);
  EXPECT_TAPE_ERROR(scaled_dot_product_attention(x, x, x), ErrorKind::dtype,
                    "scaled_dot_product_attention: needs a floating dtype, got i64");
  const Operands in = operands({2}, 3, 3, 4, 4, f32);
  EXPECT_TAPE_ERROR(attend(in, {.mask = Mask::additive(zeros({3, 3}, f64))}), ErrorKind::dtype,
                    "scaled_dot_product_attention: dtypes differ: f32 and f64");
}

TEST(Attention, ShowsObserversTheHalvesThatWereComputed) {
  struct Seen : Observer {
    bool wants_attention_weights() override { return true; }
    void on_attention(AttentionCall& call) override { calls.push_back(call); }
    std::vector<AttentionCall> calls;
  };
  const Operands in = operands({1, 2}, 3, 4, 2, 2, bf16);
  const Tensor query = in.query.clone().requires_grad_();
  const auto check = [&] {
    const Seen seen;
    const Tensor y = scaled_dot_product_attention(query, in.key, in.value);
    ASSERT_EQ(seen.calls.size(), 1U);
    const AttentionCall& call = seen.calls[0];
    for (const Tensor& x : {call.inputs[0], call.inputs[1], call.inputs[2], call.output, call.weights})
      EXPECT_EQ(x.dtype(), f32);
    EXPECT_TRUE(tensors_equal(call.output.to(bf16), y));
    EXPECT_TRUE(tensors_near(matmul(call.weights, call.inputs[2]), call.output, 1e-6));
    EXPECT_TRUE(tensors_near(call.steps(call.inputs).output, call.output, 1e-6));
    EXPECT_TRUE(grad({sum(call.output)}, {query})[0].defined());
  };
  check();
  const Composed composed;
  check();
}

TEST(Attention, ComputesTheSameGradientsForSomeInputsAsForAll) {
  const Operands in = operands({2, 2}, 5, 6, 4, 3);
  const Tensors all = by_backend(in, {.mask = Mask::causal(1)});
  for (size_t i = 0; i < 3; ++i) {
    Tensors x{in.query, in.key, in.value};
    x[i] = x[i].clone().requires_grad_();
    const auto both = scaled_dot_product_attention_with_weights(x[0], x[1], x[2], {.mask = Mask::causal(1)});
    const Tensor head = sum(both.output * sample_normal(both.output.shape(), 9)) +
                        sum(both.weights * sample_normal(both.weights.shape(), 10));
    EXPECT_TRUE(tensors_equal(grad({head}, {x[i]})[0], all[i])) << i;
  }
}

TEST(AttentionMask, MustNotChangeBeforeTheBackward) {
  const Operands in = operands({2}, 2, 3, 2, 2);
  const Tensor query = in.query.clone().requires_grad_();
  Tensor keep = tensor({{1, 1, 0}, {1, 0, 1}}, boolean);
  const Tensor y = scaled_dot_product_attention(query, in.key, in.value, {.mask = Mask::keep(keep)});
  keep.fill_(1);
  EXPECT_TAPE_ERROR(grad({sum(y)}, {query}), ErrorKind::graph,
                    "backward of 'scaled_dot_product_attention': a saved value [2, 3] was modified in place "
                    "(version 2, saved at version 1)");
}

TEST(Attention, RefusesHeadsNotDivisibleByKeyHeads) {
  const AttentionOptions grouped{.enable_gqa = true};
  const auto apart = [&](const Shape& q, const Shape& k) {
    return scaled_dot_product_attention(zeros(q), zeros(k), zeros(k), grouped);
  };
  EXPECT_TAPE_ERROR(apart({2, 4, 3, 2}, {2, 3, 5, 2}), ErrorKind::shape,
                    "scaled_dot_product_attention: 4 query heads are not a multiple of 3 key heads: query "
                    "[2, 4, 3, 2], key [2, 3, 5, 2], value [2, 3, 5, 2]");
  EXPECT_TAPE_ERROR(apart({4, 3, 2}, {2, 5, 2}), ErrorKind::shape,
                    "scaled_dot_product_attention: enable_gqa needs [..., H, T, D]: query [4, 3, 2], key [2, 5, 2], "
                    "value [2, 5, 2]");
  EXPECT_TAPE_ERROR(apart({2, 4, 3, 2}, {1, 2, 5, 2}), ErrorKind::shape,
                    "scaled_dot_product_attention: leading axes differ: query [2, 4, 3, 2], key [1, 2, 5, 2], value "
                    "[1, 2, 5, 2]");
  const auto beside = [&](int64_t key, int64_t value) {
    return multi_head_attention(zeros({2, 3, 8}), zeros({2, 5, key}), zeros({2, 5, value}), 4, grouped);
  };
  EXPECT_TAPE_ERROR(beside(6, 4), ErrorKind::config,
                    "multi_head_attention: 4 heads of width 2 do not fit key and value: query [2, 3, 8], key "
                    "[2, 5, 6], value [2, 5, 4]");
  EXPECT_TAPE_ERROR(beside(4, 5), ErrorKind::config,
                    "multi_head_attention: 4 heads of width 2 do not fit key and value: query [2, 3, 8], key "
                    "[2, 5, 4], value [2, 5, 5]");
}

TEST(Attention, HasSecondDerivativesThroughAMaskedRow) {
  const Tensor keep = tensor({{0, 0}, {1, 1}}, boolean);
  const auto f = [keep](const Tensors& in) {
    return scaled_dot_product_attention(in[0], in[1], in[2], {.mask = Mask::keep(keep)});
  };
  EXPECT_TRUE(gradients_match(
      gradgradcheck(f, {sample_normal({1, 2, 2}, 1), sample_normal({1, 2, 2}, 2), sample_normal({1, 2, 2}, 3)})));
}

TEST(Attention, RecordsEveryStepInAComposedScope) {
  const Operands in = operands({1, 1}, 2, 2, 2, 2);
  const Tensor q = in.query.clone().requires_grad_();
  const auto names = [&](const Tensor& y) {
    std::set<std::string> all;
    std::vector<const Node*> stack{y.impl().node.get()};
    while (!stack.empty()) {
      const Node* node = stack.back();
      stack.pop_back();
      all.insert(node->name());
      for (const Node::Edge& edge : node->inputs)
        if (edge.node) stack.push_back(edge.node.get());
    }
    return all;
  };
  EXPECT_TRUE(names(scaled_dot_product_attention(q, in.key, in.value)).contains("scaled_dot_product_attention"));
  const Composed composed;
  const std::set<std::string> steps =
      names(scaled_dot_product_attention(q, in.key, in.value, {.mask = Mask::causal(), .dropout = 0.1}));
  for (const char* step : {"matmul", "affine", "where", "softmax", "dropout"})
    EXPECT_TRUE(steps.contains(step)) << step;
}

TEST(Attention, AcceptsEmptySizes) {
  EXPECT_EQ(attend(operands({0, 2}, 3, 4, 2, 2)).shape(), Shape({0, 2, 3, 2}));
  EXPECT_EQ(attend(operands({2}, 0, 4, 2, 3)).shape(), Shape({2, 0, 3}));
  EXPECT_TRUE(tensors_equal(attend(operands({2}, 3, 0, 2, 3)), zeros({2, 3, 3}, f64)));
}

TEST(AttentionMask, NeedsEveryAxisBeforeTheHeads) {
  const Operands in = operands({2, 3, 2}, 4, 5, 3, 2);
  const Tensor visible = ge(randn({2, 3, 1, 4, 5}, f64), -0.5);
  EXPECT_TRUE(tensors_near(attend(in, {.mask = Mask::keep(visible)}), by_hand(in, visible), 1e-12));
  EXPECT_TAPE_ERROR(attend(in, {.mask = Mask::keep(visible[0])}), ErrorKind::shape,
                    "scaled_dot_product_attention: keep mask [3, 1, 4, 5] needs 5 axes");
}

TEST(Attention, RefusesMismatchedWidthsLengthsAndMasks) {
  const auto call = [](const Shape& q, const Shape& k, const Shape& v, const AttentionOptions& options = {}) {
    return scaled_dot_product_attention(zeros(q), zeros(k), zeros(v), options);
  };
  EXPECT_TAPE_ERROR(call({2, 3, 4}, {2, 5, 6}, {2, 5, 4}), ErrorKind::shape,
                    "scaled_dot_product_attention: query and key widths differ: query [2, 3, 4], key [2, 5, 6], value "
                    "[2, 5, 4] (4 vs 6)");
  EXPECT_TAPE_ERROR(call({2, 3, 4}, {2, 5, 4}, {2, 6, 4}), ErrorKind::shape,
                    "scaled_dot_product_attention: key and value lengths differ: query [2, 3, 4], key [2, 5, 4], value "
                    "[2, 6, 4] (5 vs 6)");
  EXPECT_TAPE_ERROR(
      call({2, 3, 4}, {3, 5, 4}, {3, 5, 4}), ErrorKind::shape,
      "scaled_dot_product_attention: leading axes differ: query [2, 3, 4], key [3, 5, 4], value [3, 5, 4]");
  EXPECT_TAPE_ERROR(
      call({4}, {4}, {4}), ErrorKind::shape,
      "scaled_dot_product_attention: operands need equal ranks of at least 2: query [4], key [4], value [4]");
  EXPECT_TAPE_ERROR(call({2, 3, 4}, {2, 5, 4}, {2, 5, 4}, {.mask = Mask::keep(zeros({3, 4}, boolean))}),
                    ErrorKind::shape,
                    "scaled_dot_product_attention: keep mask [3, 4] does not broadcast to the scores [2, 1, 3, 5]");
  EXPECT_TAPE_ERROR(multi_head_attention(zeros({2, 3, 4}), zeros({2, 3, 4}), zeros({2, 3, 4}), 3), ErrorKind::config,
                    "multi_head_attention: widths 4 and 4 are not divisible by heads 3");
}

}  // namespace
}  // namespace tape
