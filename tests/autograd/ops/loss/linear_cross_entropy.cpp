#include "autograd/ops/loss/linear_cross_entropy.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

constexpr int64_t kTokens = 300, kWidth = 24, kWords = 40;

/// Two rows of 150 tokens, every seventh one ignored.
Tensor targets() {
  std::vector<int64_t> words;
  for (int64_t i = 0; i < kTokens; ++i) words.push_back(i % 7 == 3 ? -100 : i * 13 % kWords);
  return from_vector(words, {2, kTokens / 2});
}

struct Call {
  Tensor x, weight, bias;
  explicit Call(DType dtype = f64, bool has_bias = true)
      : x(sample_normal({2, kTokens / 2, kWidth}, 1).to(dtype).requires_grad_()),
        weight(sample_normal({kWords, kWidth}, 2).to(dtype).requires_grad_()) {
    if (has_bias) bias = sample_normal({kWords}, 3).to(dtype).requires_grad_();
  }
  Tensors leaves() const { return bias.defined() ? Tensors{x, weight, bias} : Tensors{x, weight}; }
  Tensor composed(const CrossEntropyOptions& o = {}) const {
    return cross_entropy(linear(x, weight, bias), targets(), o);
  }
  Tensor fused(const CrossEntropyOptions& o = {}, int64_t rows = 64) const {
    return linear_cross_entropy(x, weight, bias, targets(), o, rows);
  }
};

/// For all options, block sizes and upstream gradients.
TEST(LinearCrossEntropy, AgreesWithLinearAndCrossEntropy) {
  const Tensor class_weight = sample_uniform({kWords}, 0.5, 2, 4);
  for (const bool has_bias : {true, false})
    for (const int64_t rows : {1, 64, 257, 1000})
      for (const CrossEntropyOptions& o : {CrossEntropyOptions{},
                                           {.reduction = Reduction::sum},
                                           {.label_smoothing = 0.1},
                                           {.label_smoothing = 0.2, .weight = class_weight}}) {
        const Call call(f64, has_bias);
        const Tensor wanted = call.composed(o), found = call.fused(o, rows);
        EXPECT_TRUE(tensors_near(found, wanted, 1e-12));
        const Tensors expected = grad({wanted * 3.0}, call.leaves()), gradients = grad({found * 3.0}, call.leaves());
        for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(tensors_near(gradients[i], expected[i], 1e-12));
      }
}

TEST(LinearCrossEntropy, AgreesWithPyTorch) {
  const std::vector<Shape> shapes{{3, 5}, {4, 5}, {4}};
  const Tensor target = tensor({1, 0, 3}, i64);
  for (const int64_t rows : {0, 1, 2}) {
    expect_case(reference::linear_cross_entropy, shapes,
                [&](const Tensors& in) { return linear_cross_entropy(in[0], in[1], in[2], target, {}, rows); });
    expect_case(reference::linear_cross_entropy_full, shapes, [&](const Tensors& in) {
      return linear_cross_entropy(in[0], in[1], in[2], target,
                                  {.ignore_index = 0, .label_smoothing = 0.1, .weight = tensor({1, 0.5, 2, 1.5}, f64)},
                                  rows);
    });
  }
}

TEST(LinearCrossEntropy, CountsAllRowsIfNoneIsIgnored) {
  const Call call;
  const Tensor target = where(eq(targets(), -100), scalar(0, i64), targets());
  const Tensor wanted = cross_entropy(linear(call.x, call.weight, call.bias), target);
  const Tensor found = linear_cross_entropy(call.x, call.weight, call.bias, target, {}, 100);
  EXPECT_TRUE(tensors_near(found, wanted, 1e-12));
  EXPECT_TRUE(tensors_near(grad({found}, {call.x})[0], grad({wanted}, {call.x})[0], 1e-12));
}

TEST(LinearCrossEntropy, IsZeroIfEverythingIsIgnored) {
  const Call call;
  const Tensor target = full({2, kTokens / 2}, -100, i64);
  const Tensor loss = linear_cross_entropy(call.x, call.weight, call.bias, target, {}, 64);
  EXPECT_EQ(loss.item(), 0);
  for (const Tensor& gradient : grad({loss}, call.leaves())) EXPECT_EQ(max(abs(gradient)).item(), 0);
}

TEST(LinearCrossEntropy, ComputesTheRequestedGradients) {
  for (const size_t only : {0U, 1U, 2U}) {
    const Call call;
    const Tensors leaves = call.leaves();
    Tensors given;
    for (size_t i = 0; i < leaves.size(); ++i) given.push_back(i == only ? leaves[i] : leaves[i].detach());
    const Tensor loss = linear_cross_entropy(given[0], given[1], given[2], targets(), {}, 64);
    EXPECT_TRUE(tensors_near(grad({loss}, {given[only]})[0], grad({call.composed()}, {leaves[only]})[0], 1e-12));
  }
  const Call call;
  const NoGrad no_grad;
  EXPECT_FALSE(call.fused().requires_grad());
  EXPECT_TRUE(tensors_near(call.fused(), call.composed(), 1e-12));
}

TEST(LinearCrossEntropy, SupportsRepeatedBackwards) {
  const Call call;
  const Tensor loss = call.fused();
  const Tensors wanted = grad({call.composed()}, call.leaves());
  for (const bool retain : {true, true, false}) {
    const Tensors found = grad({loss}, call.leaves(), {.retain_graph = retain});
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(tensors_near(found[i], wanted[i], 1e-12));
  }
}

TEST(LinearCrossEntropy, HasSecondDerivatives) {
  const Call call;
  const auto second = [&](const Tensor& loss) {
    const Tensors first = grad({square(loss)}, call.leaves(), {.create_graph = true});
    return grad({sum(square(first[0])) + sum(square(first[1])) + sum(square(first[2]))}, call.leaves());
  };
  const Tensors wanted = second(call.composed()), found = second(call.fused());
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_TRUE(tensors_near(found[i], wanted[i], 1e-10));
}

/// The logits of 2,048 tokens over 4,096 words take 32 MiB, a block of 1,024 rows 16 MiB.
TEST(LinearCrossEntropy, UsesBlocksForLargeLogits) {
  const Tensor x = sample_normal({2048, 16}).to(f32).requires_grad_(), weight = sample_normal({4096, 16}, 2).to(f32);
  const auto target = [](int64_t tokens) { return zeros({tokens}, i64); };
  const auto name = [](const Tensor& loss) { return std::string(loss.impl().node->name()); };
  reset_peak_memory();
  const int64_t before = memory_stats().live_bytes;
  const Tensor loss = linear_cross_entropy(x, weight, {}, target(2048));
  EXPECT_EQ(name(loss), "linear_cross_entropy");
  EXPECT_LT(memory_stats().peak_bytes - before, int64_t{18} << 20);
  EXPECT_LT(memory_stats().live_bytes - before, int64_t{1} << 20);
  EXPECT_TRUE(tensors_near(loss, cross_entropy(linear(x, weight), target(2048)), 1e-5));
  EXPECT_NE(name(linear_cross_entropy(slice(x, 0, {.end = 512}), weight, {}, target(512))), "linear_cross_entropy");
}

TEST(LinearCrossEntropy, ReturnsTheSamePerRowLossesAsTheTwoOperations) {
  const Call call;
  EXPECT_TRUE(tensors_equal(call.fused({.reduction = Reduction::none}), call.composed({.reduction = Reduction::none})));
}

TEST(LinearCrossEntropy, ComputesHalvesInF32) {
  for (const DType dtype : {bf16, f16}) {
    const Call half(dtype);
    Call wide = half;
    for (Tensor* leaf : {&wide.x, &wide.weight, &wide.bias}) *leaf = leaf->detach().to(f32).requires_grad_();
    const Tensor classes = sample_uniform({kWords}, 0.5, 2, 4).to(dtype);
    const Tensor found = half.fused({.weight = classes}), wanted = wide.fused({.weight = classes.to(f32)});
    EXPECT_EQ(found.dtype(), dtype);
    EXPECT_TRUE(tensors_equal(found, wanted.to(dtype)));
    const Tensors gradients = grad({found}, half.leaves()), expected = grad({wanted}, wide.leaves());
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(tensors_equal(gradients[i], expected[i].to(dtype))) << i;
  }
}

TEST(LinearCrossEntropy, RefusesInvalidArguments) {
  const Call call;
  const Tensor target = targets();
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x, call.weight, call.bias, target, {}, -1), ErrorKind::config,
                    "linear_cross_entropy: rows must not be negative, got -1");
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x, transpose(call.weight, 0, 1), {}, target, {}, 8), ErrorKind::shape,
                    "linear_cross_entropy: inner sizes differ: x [2, 150, 24] x weight [24, 40] (24 vs 40)");
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x, call.weight, call.x, target, {}, 8), ErrorKind::shape,
                    "linear_cross_entropy: bias must be [40], got [2, 150, 24]");
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x, call.weight, {}, reshape(target, {-1}), {}, 8), ErrorKind::shape,
                    "linear_cross_entropy: the target must have the shape of the scores without the last axis: [2, "
                    "150, 40] and [300]");
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x, call.weight, {}, full({2, 150}, 40, i64), {}, 8), ErrorKind::index,
                    "linear_cross_entropy: target 40 at position [0, 0] is outside [0, 40)");
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x, call.weight, {}, target, {.label_smoothing = 2}, 8), ErrorKind::config,
                    "linear_cross_entropy: label_smoothing must be in [0, 1], got 2");
  EXPECT_TAPE_ERROR(linear_cross_entropy(call.x.detach().to(bf16), call.weight, {}, target), ErrorKind::dtype,
                    "linear_cross_entropy: dtypes differ: bf16 and f64");
  EXPECT_TAPE_ERROR(linear_cross_entropy(zeros({2, 150, 24}, i64), zeros({40, 24}, i64), {}, target), ErrorKind::dtype,
                    "linear_cross_entropy: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
