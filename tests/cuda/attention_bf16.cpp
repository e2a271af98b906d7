// Attention of bf16 tensors on the emulated device: the operation with its kernels for bf16.
#include <cmath>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/scope.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

class CudaBf16Attention : public testing::Test {
 protected:
  /// A call with packed heads.
  struct Call {
    int64_t heads, kv_heads, width;
    AttentionOptions options;
  };
  /// The output and the gradients of query, key and value of sum(y * w).
  static Tensors run(const Call& call, const Tensors& operands) {
    Tensors in;
    for (const Tensor& x : operands) in.push_back(x.detach().requires_grad_());
    manual_seed(3);  // the same dropout
    const Tensor y = multi_head_attention(in[0], in[1], in[2], call.heads, call.options);
    const Tensor w = operands[3].to(y.dtype());
    sum(y * w).backward();
    return {y.detach(), in[0].grad(), in[1].grad(), in[2].grad()};
  }
  /// Compares with the composed reference in f32, on the same operands.
  static void check(const Call& call, int64_t Tq, int64_t Tk) {
    manual_seed(1);
    const auto values = [](int64_t rows, int64_t width) { return randn({2, rows, width}).to(bf16); };
    const Tensors operands{values(Tq, call.heads * call.width), values(Tk, call.kv_heads * call.width),
                           values(Tk, call.kv_heads * call.width), values(Tq, call.heads * call.width)};
    Tensors there, wide;
    for (const Tensor& x : operands) {
      there.push_back(x.to(cuda));
      wide.push_back(x.to(f32));
    }
    const Tensors actual = run(call, there);
    const Composed composed;
    const Tensors expected = run(call, wide);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_EQ(actual[i].dtype(), bf16);
      // As in tests/cuda/kernels/attention_bf16.cpp: the errors of roundings, relative to the root mean square.
      const Tensor difference = actual[i].to(cpu).to(f32) - expected[i];
      const double error = std::sqrt(sum(square(difference)).item() / sum(square(expected[i])).item());
      EXPECT_LE(error, cuda_device::test_tolerance(1.0 / 256)) << "result " << i;
    }
  }

  cuda_device::TestDevice device_;
};

TEST_F(CudaBf16Attention, HasTheValuesAndGradientsOfItsReference) {
  const AttentionOptions causal{.mask = Mask::causal()},
      all{.mask = Mask::causal(), .dropout = 0.2, .enable_gqa = true};
  for (const int schedule : {0, 1, 2}) {
    device_.set_schedule(schedule);
    check({.heads = 2, .kv_heads = 2, .width = 32, .options = {}}, 20, 33);
    check({.heads = 2, .kv_heads = 2, .width = 64, .options = causal}, 40, 40);
    check({.heads = 4, .kv_heads = 2, .width = 16, .options = all}, 24, 24);
  }
}

TEST_F(CudaBf16Attention, TakesOneKernelForwardAndThreeBackward) {
  const auto values = [] { return randn({1, 16, 64}, cuda).to(bf16).requires_grad_(); };
  Tensor q = values();
  const Tensor k = values(), v = values(), dy = ones({1, 16, 64}, {bf16, cuda});
  const auto launches_of = [&](const auto& run) {
    const int64_t before = device_.launches();
    run();
    return device_.launches() - before;
  };
  Tensor y;
  EXPECT_EQ(launches_of([&] { y = multi_head_attention(q, k, v, 2); }), 1);
  // Statistics, the gradient of the query, and those of key and value.
  EXPECT_EQ(launches_of([&] { y.backward({.gradient = dy}); }), 3);
  y = multi_head_attention(q, k.detach(), v.detach(), 2);
  q.zero_grad();
  EXPECT_EQ(launches_of([&] { y.backward({.gradient = dy}); }), 2);
}

TEST_F(CudaBf16Attention, ReadsACache) {
  manual_seed(1);
  const auto values = [](const Shape& shape) { return randn(shape).to(bf16); };
  const Tensor q = values({2, 1, 64}), k = values({3, 10, 32}), v = values({3, 10, 32});
  const Tensor rows = tensor({{0, 2, 1, 1, 2, 0, 0}, {1, 1, 0, 2, 2, 2, 0}}, i64);
  for (const Tensor& chosen : {rows, Tensor()}) {
    const auto there = [](const Tensor& x) { return x.defined() ? x.to(cuda) : x; };
    const auto cut = [&](const Tensor& x) { return chosen.defined() ? x : slice(x, 0, {.start = 1}); };
    const auto attend = [&](const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& order) {
      return multi_head_attention(query, {.key = cut(key), .value = cut(value), .length = 7, .rows = order}, 4,
                                  {.enable_gqa = true});
    };
    const Tensor expected = attend(q, k, v, chosen).to(f32), qt = there(q), kt = there(k), vt = there(v),
                 rt = there(chosen);
    const int64_t before = device_.launches();
    const Tensor actual = attend(qt, kt, vt, rt);
    // Of the parts of the keys, of the sum over the parts, and of the check of the rows.
    EXPECT_EQ(device_.launches() - before, chosen.defined() ? 3 : 2);
    EXPECT_TRUE(tensors_near(actual.to(cpu).to(f32), expected, 0.01));
  }
}

TEST_F(CudaBf16Attention, DifferentiatesTwice) {
  const auto second = [](Device at) {
    manual_seed(1);
    const Tensor x = randn({1, 9, 32}).to(bf16).to(at).requires_grad_();
    const Tensor y = multi_head_attention(x, x, x, 2, {.mask = Mask::causal()});
    const Tensor first = grad({sum(square(y.to(f32)))}, {x}, {.create_graph = true})[0];
    sum(square(first.to(f32))).backward();
    return x.grad().to(cpu).to(f32);
  };
  const Tensor here = second(cpu), there = second(cuda);
  EXPECT_TRUE(allclose(there, here, {.rtol = 0, .atol = 0.05 * max(abs(here)).item()}));
}

TEST_F(CudaBf16Attention, ComputesInF32WhatItsKernelsDoNotTake) {
  const auto same = [](const Tensor& a, const Tensor& b) { return tensors_near(a.to(cpu).to(f32), b.to(f32), 0.02); };
  manual_seed(1);
  const Tensor q = randn({1, 8, 24}).to(bf16), there = q.to(cuda);
  // Rows that are not aligned.
  EXPECT_TRUE(same(multi_head_attention(there, there, there, 6), multi_head_attention(q, q, q, 6)));
  // Weights, and an additive mask.
  const AttentionResult weights = multi_head_attention_with_weights(there, there, there, 3);
  EXPECT_TRUE(same(weights.weights, multi_head_attention_with_weights(q, q, q, 3).weights));
  const Tensor bias = randn({8, 8});
  EXPECT_TRUE(same(multi_head_attention(there, there, there, 3, {.mask = Mask::additive(bias.to(cuda))}),
                   multi_head_attention(q, q, q, 3, {.mask = Mask::additive(bias)})));
}

TEST_F(CudaBf16Attention, TakesSlicesThatBeginAnywhere) {
  manual_seed(1);
  const Tensor all = randn({1 + 2 * 8 * 16}).to(bf16), q = reshape(slice(all, 0, {.start = 1}), {2, 8, 16});
  const Tensor there = reshape(slice(all.to(cuda), 0, {.start = 1}), {2, 8, 16});
  EXPECT_TRUE(tensors_near(multi_head_attention(there, there, there, 2).to(cpu).to(f32),
                           multi_head_attention(q, q, q, 2).to(f32), 0.02));
}

}  // namespace
}  // namespace tape
