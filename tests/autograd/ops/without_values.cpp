// Empty tensors with the longest possible axis: operations return immediately, and counts of bytes and work stay within
// 64 bits (checked by the sanitizer build).

#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/ops/linalg.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

constexpr int64_t kLong = Shape::kMaxElements;

using Operation = std::function<Tensor(const Tensor& x, int64_t axis)>;

/// Operations that return no more values than x has, along axis 0 or 1.
const std::map<std::string, Operation>& operations() {
  static const std::map<std::string, Operation> all = {
      {"softmax", [](const Tensor& x, int64_t axis) { return softmax(x, axis); }},
      {"log_softmax", [](const Tensor& x, int64_t axis) { return log_softmax(x, axis); }},
      {"cumsum", [](const Tensor& x, int64_t axis) { return cumsum(x, axis); }},
      {"cumprod", [](const Tensor& x, int64_t axis) { return cumprod(x, axis); }},
      {"logcumsumexp", [](const Tensor& x, int64_t axis) { return logcumsumexp(x, axis); }},
      {"cummax", [](const Tensor& x, int64_t axis) { return cummax(x, axis).values; }},
      {"linear_scan", [](const Tensor& x, int64_t axis) { return linear_scan(x, x, axis); }},
      {"sort", [](const Tensor& x, int64_t axis) { return sort(x, axis).values; }},
      {"topk", [](const Tensor& x, int64_t axis) { return topk(x, x.size(axis), axis).values; }},
      {"flip", [](const Tensor& x, int64_t axis) { return flip(x, {axis}); }},
      {"roll", [](const Tensor& x, int64_t axis) { return roll(x, INT64_MIN, axis); }},
      {"unfold", [](const Tensor& x, int64_t axis) { return unfold(x, axis, 0, INT64_MAX); }},
      {"slice", [](const Tensor& x, int64_t axis) { return slice(x, axis, {.start = 1, .step = INT64_MAX}); }},
      {"split", [](const Tensor& x, int64_t axis) { return split(x, kLong, axis).at(0); }},
      {"chunk", [](const Tensor& x, int64_t axis) { return chunk(x, 3, axis).at(0); }},
      {"put_slice", [](const Tensor& x, int64_t axis) { return put_slice(x, axis, 0, x); }},
      {"sum over both", [](const Tensor& x, int64_t) { return sum(x); }},
      {"triu", [](const Tensor& x, int64_t) { return triu(x, INT64_MIN); }},
      {"diagonal", [](const Tensor& x, int64_t) { return diagonal(x, INT64_MIN); }},
      {"dropout", [](const Tensor& x, int64_t) { return dropout(x, 0.5); }},
      {"permute", [](const Tensor& x, int64_t) { return transpose(x); }},
      {"repeat",
       [](const Tensor& x, int64_t) {
         return repeat(x, {1, 1});
       }},
      {"masked_select", [](const Tensor& x, int64_t) { return masked_select(x, gt(x, 0)); }},
      {"boolean index", [](const Tensor& x, int64_t) { return index(x, {gt(x, 0)}); }},
      {"gather", [](const Tensor& x, int64_t axis) { return gather(x, axis, zeros(x.shape(), i64)); }},
      {"scatter", [](const Tensor& x, int64_t axis) { return scatter(x, axis, zeros(x.shape(), i64), x); }},
      {"scatter_add", [](const Tensor& x, int64_t axis) { return scatter_add(x, axis, zeros(x.shape(), i64), x); }},
      {"scatter_reduce",
       [](const Tensor& x, int64_t axis) { return scatter_reduce(x, axis, zeros(x.shape(), i64), x, Reduce::prod); }},
  };
  return all;
}

class WithoutValues : public testing::TestWithParam<std::string> {};

TEST_P(WithoutValues, ReturnsImmediatelyForTheLongestAxis) {
  for (const Shape& shape : {Shape{0, kLong}, Shape{kLong, 0}})
    for (const int64_t axis : {0, 1}) {
      Tensor x = zeros(shape).requires_grad_();
      const Tensor y = operations().at(GetParam())(x, axis);
      EXPECT_LE(y.numel(), 1);
      sum(y).backward();
      EXPECT_EQ(x.grad().shape(), shape);
    }
}

INSTANTIATE_TEST_SUITE_P(Operations, WithoutValues, [] {
  std::vector<std::string> names;
  for (const auto& [name, operation] : operations()) names.push_back(name);
  return testing::ValuesIn(names);
}());

TEST(EmptyTensors, CanBeIndexedOrRefused) {
  for (const int64_t axis : {0, 1}) {
    Tensor x = zeros(axis == 0 ? Shape{kLong, 0} : Shape{0, kLong}).requires_grad_();
    const Tensor places = from_vector<int64_t>({-1, kLong - 1, -kLong});
    const Tensor part = index_select(x, axis, places);
    EXPECT_EQ(part.shape(), (axis == 0 ? Shape{3, 0} : Shape{0, 3}));
    sum(index_add(index_copy(x, axis, places, part), axis, places, part)).backward();
    EXPECT_EQ(x.grad().shape(), x.shape());
    EXPECT_TAPE_ERROR(index_select(x, axis, from_vector<int64_t>({-1, kLong})), ErrorKind::index,
                      "index_select: index 281474976710656 at position 1 is outside [-281474976710656, "
                      "281474976710656)");
  }
}

TEST(EmptyTensors, ReduceImmediately) {
  for (const auto& reduce : {sum, logsumexp, nansum, prod}) {
    Tensor x = zeros({kLong, 0}).requires_grad_();
    const Tensor y = reduce(x, {0}, Dims::drop);
    EXPECT_EQ(y.shape(), Shape{0});
    sum(y).backward();
    EXPECT_EQ(x.grad().shape(), x.shape());
  }
}

TEST(EmptyTensors, MultiplyImmediatelyForAnyNumberOfMatrices) {
  for (const Tensor& other : {zeros({1, 1}), zeros({kLong, 1, 0})}) {
    Tensor x = zeros({kLong, 0, 1}).requires_grad_();
    const Tensor y = matmul(x, other);
    EXPECT_EQ(y.shape(), (Shape{kLong, 0, other.size(-1)}));
    sum(y).backward();
    EXPECT_EQ(x.grad().shape(), x.shape());
  }
}

TEST(EmptyTensors, HaveAtMostAMillionMatricesInLinearAlgebra) {
  using namespace linalg;
  const std::map<std::string, std::function<Tensor(const Tensor&)>> all = {
      {"cholesky", [](const Tensor& a) { return cholesky(a); }},
      {"qr", [](const Tensor& a) { return qr(a).r; }},
      {"eigh", [](const Tensor& a) { return eigh(a).eigenvalues; }},
      {"svd", [](const Tensor& a) { return svd(a).vh; }},
      {"inv", [](const Tensor& a) { return inv(a); }},
      {"pinv", [](const Tensor& a) { return pinv(a); }},
      {"solve", [](const Tensor& a) { return solve(a, a); }},
      {"solve_triangular", [](const Tensor& a) { return solve_triangular(a, a, {.upper = true}); }},
      {"lstsq", [](const Tensor& a) { return lstsq(a, a).solution; }},
      {"matrix_exp", [](const Tensor& a) { return matrix_exp(a); }},
  };
  for (const auto& [name, operation] : all) {
    Tensor x = zeros({1 << 20, 0, 0}).requires_grad_();
    const Tensor y = operation(x);
    EXPECT_EQ(y.numel(), 0) << name;
    sum(y).backward();
    EXPECT_EQ(x.grad().shape(), x.shape()) << name;
    EXPECT_TAPE_ERROR(operation(zeros({kLong, 0, 0})), ErrorKind::shape,
                      name + ": a [281474976710656, 0, 0] has more than 1048576 empty matrices");
  }
}

TEST(EmptyTensors, RefuseSizesThatOverflow) {
  const Tensor x = zeros({0, 3});
  EXPECT_TAPE_ERROR(pad(x, {{INT64_MAX, 1}}), ErrorKind::shape, "pad: 3 + 9223372036854775807 overflows");
  EXPECT_TAPE_ERROR(diag_embed(x, INT64_MIN), ErrorKind::shape, "diag_embed: 3 + 9223372036854775807 overflows");
  EXPECT_TAPE_ERROR(split(x, {INT64_MAX, INT64_MAX}, 1), ErrorKind::shape,
                    "split: 9223372036854775807 + 9223372036854775807 overflows");
  EXPECT_TAPE_ERROR(conv1d(zeros({1, 2, 3}), ones({2, 2, 1}), {}, {.groups = INT64_MAX}), ErrorKind::shape,
                    "conv1d: 2 x 9223372036854775807 overflows");
  EXPECT_TAPE_ERROR(bincount(from_vector<int64_t>({0, INT64_MAX - 1})), ErrorKind::shape,
                    "shape: the number of elements of [9223372036854775807] overflows");
  EXPECT_EQ(chunk(x, INT64_MAX, 1).size(), 3U);
  EXPECT_EQ(split(x, INT64_MAX, 1).size(), 1U);
}

}  // namespace
}  // namespace tape
