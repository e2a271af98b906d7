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

  /// How many bytes a product keeps behind it.
  int64_t kept_by_product() {
    const int64_t before = memory_stats().live_bytes;
    linear(x, weight, bias);
    return memory_stats().live_bytes - before;
  }
};

TEST_F(PackedWeights, give_the_products_of_the_weight) {
  const Tensor without = linear(x, weight, bias);
  keep_packed(weight, true);
  EXPECT_TRUE(tensors_near(linear(x, weight, bias), without, 1e-5));
}

TEST_F(PackedWeights, are_made_once_and_let_go) {
  if (!packs()) GTEST_SKIP() << "this CPU's level packs nothing";
  EXPECT_EQ(kept_by_product(), 0);
  keep_packed(weight, true);
  EXPECT_GE(kept_by_product(), 50 * 70 * 4);
  EXPECT_EQ(kept_by_product(), 0);
  const int64_t before = memory_stats().live_bytes;
  keep_packed(weight, false);
  EXPECT_LE(memory_stats().live_bytes, before - 50 * 70 * 4);
  EXPECT_EQ(kept_by_product(), 0);
}

TEST_F(PackedWeights, follow_a_write_to_the_weight) {
  keep_packed(weight, true);
  linear(x, weight, bias);
  weight.mul_(2);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x * 2, weight.clone() / 2), 1e-5));
}

TEST_F(PackedWeights, follow_a_write_through_an_older_view_or_pointer) {
  float* const pointer = weight.mutable_data<float>();
  Tensor view = reshape(weight.detach(), {70, 50});
  keep_packed(weight, true);
  linear(x, weight);
  view.fill_(0.5);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
  // Of a write to all values the next product knows; of one to a single value one of the next 256.
  std::fill_n(pointer, weight.numel(), 0.25f);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
  pointer[1234] = 100;
  for (int i = 0; i < 256; ++i) linear(x, weight);
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
}

TEST_F(PackedWeights, of_one_storage_are_told_apart) {
  const Tensor other = reshape(weight, {70, 50});
  ASSERT_TRUE(other.shares_storage(weight));
  keep_packed(weight, true);
  linear(x, weight);
  const Tensor y = randn({16, 50});
  EXPECT_TRUE(tensors_near(linear(y, other), linear(y, other.clone()), 1e-5));
  EXPECT_TRUE(tensors_near(linear(x, weight), linear(x, weight.clone()), 1e-5));
}

TEST_F(PackedWeights, have_the_gradients_of_the_weight) {
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

TEST_F(PackedWeights, are_of_floating_matrices_alone) {
  for (const Tensor& other : {Tensor(), bias, reshape(arange(6), {2, 3})}) EXPECT_NO_THROW(keep_packed(other, true));
}

}  // namespace
}  // namespace tape
