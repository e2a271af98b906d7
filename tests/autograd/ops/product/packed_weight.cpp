#include "autograd/ops/product/packed_weight.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/kernels/runtime/common/isa.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

bool packs() { return kernels::isa() >= kernels::Isa::v3; }

struct PackedWeights : ::testing::Test {
  Tensor x = randn({16, 70}), weight = randn({50, 70}), bias = randn({50});

  /// Number of bytes that remain allocated after a product.
  int64_t kept_by_product() {
    const int64_t before = memory_stats().live_bytes;
    linear(x, weight, bias);
    return memory_stats().live_bytes - before;
  }
};

TEST_F(PackedWeights, GiveTheProductsOfTheWeight) {
  const Tensor without = linear(x, weight, bias);
  keep_packed(weight, true);
  EXPECT_TRUE(tensors_near(linear(x, weight, bias), without, 1e-5));
}

TEST_F(PackedWeights, ArePackedOnceAndReleased) {
  if (!packs()) GTEST_SKIP() << "this CPU level does not pack operands";
  EXPECT_EQ(kept_by_product(), 0);
  keep_packed(weight, true);
  EXPECT_GE(kept_by_product(), 50 * 70 * 4);
  EXPECT_EQ(kept_by_product(), 0);
  const int64_t before = memory_stats().live_bytes;
  keep_packed(weight, false);
  EXPECT_LE(memory_stats().live_bytes, before - 50 * 70 * 4);
  EXPECT_EQ(kept_by_product(), 0);
}

TEST_F(PackedWeights, FollowWritesToTheWeight) {
  keep_packed(weight, true);
  linear(x, weight, bias);
  weight.mul_(2);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x * 2, weight.clone() / 2), 1e-5));
}

TEST_F(PackedWeights, FollowWritesThroughOlderViewsAndPointers) {
  float* const pointer = weight.mutable_data<float>();
  Tensor view = reshape(weight.detach(), {70, 50});
  keep_packed(weight, true);
  linear(x, weight);
  view.fill_(0.5);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
  // The next product sees a write to all values; a write to one value is seen within the next 256 products.
  std::fill_n(pointer, weight.numel(), 0.25f);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
  pointer[1234] = 100;
  for (int i = 0; i < 256; ++i) linear(x, weight);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
}

TEST_F(PackedWeights, AreDistinguishedWithinOneStorage) {
  const Tensor other = reshape(weight, {70, 50});
  ASSERT_TRUE(other.shares_storage(weight));
  keep_packed(weight, true);
  linear(x, weight);
  const Tensor y = randn({16, 50});
  EXPECT_TRUE(tensors_near(linear(y, other), linear(y, other.clone()), 1e-5));
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
}

TEST_F(PackedWeights, HaveTheGradientsOfTheWeight) {
  const auto gradients = [&](Tensor w) {
    Tensor input = x.clone();
    input.requires_grad_(true);
    w.requires_grad_(true);
    const Tensor y = linear(input, w, bias);
    sum(y * y).backward();
    return Tensors{input.grad(), w.grad()};
  };
  const Tensors without = gradients(weight.clone());
  Tensor kept = weight.clone();
  keep_packed(kept, true);
  const Tensors with = gradients(kept);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(tensors_near(with[i], without[i], 1e-3));
}

TEST_F(PackedWeights, ApplyOnlyToFloatingMatrices) {
  for (const Tensor& other : {Tensor(), bias, reshape(arange(6), {2, 3})}) EXPECT_NO_THROW(keep_packed(other, true));
}

}  // namespace
}  // namespace tape
