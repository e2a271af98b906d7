#include "autograd/tensor.h"

#include <type_traits>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

static_assert(std::is_assignable_v<Tensor&, const Tensor&> && std::is_assignable_v<Tensor&, Tensor>);
static_assert(!std::is_assignable_v<Tensor, const Tensor&> && !std::is_assignable_v<Tensor, Tensor>);  // x[0] = y

TEST(Tensor, HasAShapeAndDtype) {
  const Tensor x = zeros({2, 3, 4}, f64);
  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.size(1), 3);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.dtype(), f64);
  EXPECT_TAPE_ERROR(x.size(3), ErrorKind::index, "size: axis 3 is out of range for shape [2, 3, 4]");
  EXPECT_TAPE_ERROR(x.size(-4), ErrorKind::index, "size: axis -4 is out of range for shape [2, 3, 4]");
}

TEST(Tensor, SupportsOnlyDefinedIfUndefined) {
  const Tensor x;
  EXPECT_FALSE(x.defined());
  EXPECT_FALSE(x.requires_grad());
  constexpr const char* kUndefined =
      "the tensor is undefined: nothing was assigned to it, it was moved from, or it is a gradient before backward()";
  EXPECT_TAPE_ERROR(x.shape(), ErrorKind::graph, kUndefined);
  EXPECT_TAPE_ERROR(x + ones({2}), ErrorKind::graph, kUndefined);
  EXPECT_TAPE_ERROR(ones({2}).requires_grad_().grad().item(), ErrorKind::graph, kUndefined);
}

TEST(Tensor, SharesStorageBetweenHandlesButNotClones) {
  Tensor x = tensor({1, 2});
  Tensor same = x, copy = x.clone(), detached = x.detach();
  EXPECT_TRUE(same.is(x));
  EXPECT_FALSE(detached.is(x));
  EXPECT_TRUE(detached.shares_storage(x));
  EXPECT_FALSE(copy.shares_storage(x));
  x.fill_(7);
  EXPECT_EQ(same.data<float>()[0], 7);
  EXPECT_EQ(detached.data<float>()[0], 7);
  EXPECT_EQ(copy.data<float>()[0], 1);
}

TEST(Tensor, ReturnsItsValuesOnlyInItsDtype) {
  Tensor x = tensor({1, 2});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2}));
  EXPECT_TAPE_ERROR(x.data<double>(), ErrorKind::dtype, "data: requested f64, but the tensor is f32");
  EXPECT_TAPE_ERROR(x.mutable_data<int64_t>(), ErrorKind::dtype, "data: requested i64, but the tensor is f32");
  EXPECT_TAPE_ERROR(x.item(), ErrorKind::shape, "item: needs one element, the tensor is [2]");
  EXPECT_EQ(tensor({3}, boolean).item(), 1);
  EXPECT_EQ(full({1, 1}, 5, i64).item<int64_t>(), 5);
  for (const int64_t value : {INT64_MAX, INT64_MIN, (int64_t{1} << 53) + 1})
    EXPECT_EQ(full({1}, value, i64).item<int64_t>(), value);
  EXPECT_EQ(scalar(-2.75).item<int64_t>(), -2);
  EXPECT_EQ(scalar(2.5, bf16).item<float>(), 2.5F);
  EXPECT_TRUE(scalar(0.5).item<bool>());
  EXPECT_TAPE_ERROR(scalar(0x1p63).item<int64_t>(), ErrorKind::numeric, "item: 9.223372036854776e+18 does not fit i64");
  EXPECT_TAPE_ERROR(scalar(std::numeric_limits<float>::quiet_NaN()).item<int64_t>(), ErrorKind::numeric,
                    "item: nan does not fit i64");
  EXPECT_TAPE_ERROR(full({1}, int64_t{1} << 31, i64).item<int32_t>(), ErrorKind::numeric,
                    "item: 2147483648 does not fit i32");
}

TEST(Tensor, ReturnsViewsOfRows) {
  Tensor x = tensor({{1, 2}, {3, 4}}, f64);
  Tensor row = x[1];
  EXPECT_EQ(row.shape(), Shape({2}));
  EXPECT_TRUE(row.shares_storage(x));
  row.fill_(9);
  EXPECT_TRUE(tensors_equal(x, tensor({{1, 2}, {9, 9}}, f64)));
}

TEST(Tensor, ConvertsDtypes) {
  const Tensor x = tensor({-1.5, 0, 2.5}, f64);
  EXPECT_TRUE(x.to(f64).is(x));
  EXPECT_EQ(x.to(i64).to_vector<int64_t>(), (std::vector<int64_t>{-1, 0, 2}));
  EXPECT_EQ(x.to(boolean).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  Tensor leaf = tensor({1, 2}).requires_grad_();
  leaf.to(f64).backward({.gradient = tensor({3, 4}, f64)});
  EXPECT_TRUE(tensors_equal(leaf.grad(), tensor({3, 4})));
}

TEST(Tensor, WritesInPlaceAndIncrementsItsVersion) {
  Tensor x = tensor({1, 2}, f64);
  const uint64_t version = x.version();
  x.add_(tensor({10, 20}, f64), 0.5);
  x.mul_(2);
  EXPECT_TRUE(tensors_equal(x, tensor({12, 24}, f64)));
  EXPECT_EQ(x.version(), version + 2);
  x.copy_(tensor({1, 0}, i64));
  EXPECT_TRUE(tensors_equal(x, tensor({1, 0}, f64)));
  x.zero_();
  EXPECT_TRUE(tensors_equal(x, zeros({2}, f64)));
  EXPECT_GT(x.version(), version + 3);
  EXPECT_TAPE_ERROR(x.copy_(zeros({3})), ErrorKind::shape, "copy_: shapes differ: [2] and [3]");
}

TEST(Tensor, RefusesInPlaceWritesIfItRequiresGradients) {
  Tensor x = ones({2}).requires_grad_();
  EXPECT_TAPE_ERROR(x.fill_(3), ErrorKind::graph,
                    "fill_: in-place write to a tensor [2] that requires gradients; use a NoGrad scope or detach()");
  const NoGrad no_grad;
  x.fill_(3);
  EXPECT_EQ(x.data<float>()[0], 3);
}

TEST(Tensor, BecomesALeaf) {
  Tensor x = ones({2});
  EXPECT_TRUE(x.is_leaf());
  x.requires_grad_();
  EXPECT_TRUE(x.requires_grad());
  EXPECT_TRUE(x.is_leaf());
  Tensor y = square(x);
  EXPECT_FALSE(y.is_leaf());
  EXPECT_TAPE_ERROR(y.requires_grad_(false), ErrorKind::graph,
                    "requires_grad_: the tensor is the result of 'square'; use detach()");
  x.requires_grad_(false);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_TAPE_ERROR(ones({2}, i64).requires_grad_(), ErrorKind::dtype,
                    "requires_grad_: only floating tensors have gradients, this one is i64");
}

TEST(Tensor, StoresItsGradient) {
  Tensor x = ones({2});
  EXPECT_TAPE_ERROR(x.set_grad(ones({2})), ErrorKind::graph, "set_grad: the tensor does not require gradients");
  x.zero_grad();
  x.requires_grad_();
  EXPECT_FALSE(x.grad().defined());
  x.set_grad(tensor({1, 2}));
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({1, 2})));
  EXPECT_TAPE_ERROR(x.set_grad(ones({3})), ErrorKind::shape, "set_grad: shapes differ: [2] and [3]");
  EXPECT_TAPE_ERROR(x.set_grad(ones({2}, f64)), ErrorKind::dtype, "set_grad: dtypes differ: f32 and f64");
  x.zero_grad();
  EXPECT_FALSE(x.grad().defined());
}

TEST(Tensor, AcceptsOtherData) {
  Tensor x = ones({2}).requires_grad_();
  const Tensor handle = x;
  x.set_grad(ones({2}));
  x.set_data(zeros({3}, f64));
  EXPECT_EQ(handle.shape(), Shape({3}));
  EXPECT_EQ(handle.dtype(), f64);
  EXPECT_TRUE(handle.requires_grad());
  EXPECT_FALSE(handle.grad().defined());
  Tensor y = square(x);
  EXPECT_TAPE_ERROR(y.set_data(zeros({3})), ErrorKind::graph, "set_data: the tensor is the result of 'square'");
}

}  // namespace
}  // namespace tape
