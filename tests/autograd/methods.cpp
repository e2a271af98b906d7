#include <sstream>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/random.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

bool same(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && all(a == b).item<bool>();
}

TEST(TensorMethods, MatchTheFunctionsOfTheSameName) {
  manual_seed(1);
  const Tensor x = rand({2, 3, 4}) + 0.5, y = rand({4, 2});
  const Axes axes = {0, -1};
  EXPECT_TRUE(same(x.sum(axes, Dims::keep), sum(x, axes, Dims::keep)));
  EXPECT_TRUE(same(x.mean(1), mean(x, 1)));
  EXPECT_TRUE(same(x.max(), max(x)));
  EXPECT_TRUE(same(x.min(2), min(x, 2)));
  EXPECT_TRUE(same(x.argmax(-1), argmax(x, -1)));
  EXPECT_TRUE(same(x.argmin(0, Dims::keep), argmin(x, 0, Dims::keep)));
  EXPECT_TRUE(same((x > 1).any(1), any(x > 1, 1)));
  EXPECT_TRUE(same((x > 1).all(), all(x > 1)));
  EXPECT_TRUE(same(x.reshape({4, -1}), reshape(x, {4, -1})));
  EXPECT_TRUE(same(x.view({6, 4}), reshape(x, {6, 4})));
  EXPECT_TRUE(same(x.flatten(1), flatten(x, 1)));
  EXPECT_TRUE(same(x.transpose(0, 1), transpose(x, 0, 1)));
  EXPECT_TRUE(same(x.permute({2, 0, 1}), permute(x, {2, 0, 1})));
  EXPECT_TRUE(same(x.unsqueeze(1), unsqueeze(x, 1)));
  EXPECT_TRUE(same(x.unsqueeze(1).squeeze(1), x));
  EXPECT_TRUE(same(y.unsqueeze(0).expand({3, 4, 2}), expand(unsqueeze(y, 0), {3, 4, 2})));
  EXPECT_TRUE(same(x.matmul(y), matmul(x, y)));
  EXPECT_TRUE(same(x.softmax(-1), softmax(x, -1)));
  EXPECT_TRUE(same(x.log_softmax(1), log_softmax(x, 1)));
  EXPECT_TRUE(same(x.exp(), exp(x)));
  EXPECT_TRUE(same(x.log(), log(x)));
  EXPECT_TRUE(same(x.sqrt(), sqrt(x)));
  EXPECT_TRUE(same(x.square(), square(x)));
  EXPECT_TRUE(same((-x).abs(), abs(-x)));
  EXPECT_TRUE(same(x.tanh(), tanh(x)));
  EXPECT_TRUE(same(x.sigmoid(), sigmoid(x)));
  EXPECT_TRUE(same((x - 1).relu(), relu(x - 1)));
  EXPECT_TRUE(same(x.gelu(), gelu(x)));
  EXPECT_TRUE(same(x.pow(3), pow(x, 3)));
  EXPECT_TRUE(same(x.pow(x), pow(x, x)));
  EXPECT_TRUE(same(x.clamp(0.7, 1.2), clamp(x, 0.7, 1.2)));
  EXPECT_TRUE(same(x.masked_fill(x > 1, 0), masked_fill(x, x > 1, 0)));
}

TEST(TensorMethods, PropagateGradients) {
  const Tensor x = from_vector<float>({1, 2, 3}, {3}).requires_grad_();
  x.square().sum().backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2, 4, 6}));
}

TEST(Comparisons, ReturnBoolTensors) {
  const Tensor x = from_vector<float>({-1, 0, 2}, {3}), y = from_vector<float>({0, 0, 1}, {3});
  const auto expect = [](const Tensor& found, std::vector<bool> values) {
    ASSERT_EQ(found.dtype(), boolean);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(found[static_cast<int64_t>(i)].item<bool>(), values[i]) << i;
  };
  expect(x == y, {false, true, false});
  expect(x != y, {true, false, true});
  expect(x < y, {true, false, false});
  expect(x <= y, {true, true, false});
  expect(x > y, {false, false, true});
  expect(x >= y, {false, true, true});
  expect(x == 0, {false, true, false});
  expect(x != 0, {true, false, true});
  expect(x < 0, {true, false, false});
  expect(x <= 0, {true, true, false});
  expect(x > 0.5, {false, false, true});
  expect(x >= 0, {false, true, true});
  expect(0 == x, {false, true, false});
  expect(0 != x, {true, false, true});
  expect(0 < x, {false, false, true});
  expect(0 <= x, {false, true, true});
  expect(0 > x, {true, false, false});
  expect(0 >= x, {true, true, false});
}

TEST(Printing, SupportsShapesDtypesAndErrorKinds) {
  std::ostringstream text;
  text << Shape{2, 3} << " " << bf16 << " " << ErrorKind::out_of_memory;
  EXPECT_EQ(text.str(), "[2, 3] bf16 out_of_memory");
}

}  // namespace
}  // namespace tape
