#include <gtest/gtest.h>

#include <cmath>
#include <locale>
#include <sstream>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

class Print : public testing::Test {
 protected:
  ~Print() override { set_printoptions({}); }
};

TEST_F(Print, ShowsNestedBrackets) {
  EXPECT_EQ(to_string(scalar(3.5)), "tensor(3.5000)");
  EXPECT_EQ(to_string(tensor({1, -2.25})), "tensor([ 1.0000, -2.2500])");
  EXPECT_EQ(to_string(tensor({{1, 2}, {3, 44}})),
            "tensor([[ 1.0000,  2.0000],\n"
            "        [ 3.0000, 44.0000]])");
  EXPECT_EQ(to_string(from_vector<float>({1, 2, 3, 4}, {2, 2, 1})),
            "tensor([[[1.0000],\n"
            "         [2.0000]],\n"
            "\n"
            "        [[3.0000],\n"
            "         [4.0000]]])");
}

TEST_F(Print, ShowsEveryDtype) {
  EXPECT_EQ(to_string(tensor({1, -2.25}, f16)), "tensor([ 1.0000, -2.2500], f16)");
  EXPECT_EQ(to_string(tensor({0.1, INFINITY}, bf16)), "tensor([0.1001,    inf], bf16)");
  EXPECT_EQ(to_string(tensor({-7, 10}, i32)), "tensor([-7, 10], i32)");
  EXPECT_EQ(to_string(tensor({0, 255}, u8)), "tensor([  0, 255], u8)");
}

TEST_F(Print, ShowsDtypeAndOperation) {
  Tensor a = tensor({{1, 2}, {3, 4}}, f64);
  EXPECT_EQ(to_string(a), "tensor([[1.0000, 2.0000],\n        [3.0000, 4.0000]], f64)");
  a.requires_grad_();
  EXPECT_EQ(to_string(a), "tensor([[1.0000, 2.0000],\n        [3.0000, 4.0000]], f64, requires_grad)");
  EXPECT_EQ(to_string(matmul(a, eye(2, f64))),
            "tensor([[1.0000, 2.0000],\n        [3.0000, 4.0000]], f64, grad: matmul)");
  EXPECT_EQ(to_string(tensor({1, -20}, i64)), "tensor([  1, -20], i64)");
  EXPECT_EQ(to_string(tensor({1, 0}, boolean)), "tensor([ true, false], bool)");
}

TEST_F(Print, ShowsEmptyAndUndefinedTensors) {
  EXPECT_EQ(to_string(zeros({2, 0})), "tensor([], shape [2, 0])");
  EXPECT_EQ(to_string(zeros({0}, i64)), "tensor([], shape [0], i64)");
  EXPECT_EQ(to_string(Tensor()), "undefined tensor");
}

TEST_F(Print, ShowsNonFiniteValues) {
  EXPECT_EQ(to_string(tensor({NAN, -INFINITY, INFINITY, 1.5})), "tensor([   nan,   -inf,    inf, 1.5000])");
  EXPECT_EQ(to_string(tensor({-NAN})), "tensor([nan])");
}

TEST_F(Print, UsesExponentsForWideRanges) {
  EXPECT_EQ(to_string(tensor({1, 1000}, f64)), "tensor([   1.0000, 1000.0000], f64)");
  EXPECT_EQ(to_string(tensor({1, 1001}, f64)), "tensor([1.0000e+00, 1.0010e+03], f64)");
  EXPECT_EQ(to_string(tensor({1e8, 0, -2e8}, f64)), "tensor([ 1.0000e+08,  0.0000e+00, -2.0000e+08], f64)");
  EXPECT_EQ(to_string(tensor({2e-5}, f64)), "tensor([2.0000e-05], f64)");
  EXPECT_EQ(to_string(zeros({2})), "tensor([0.0000, 0.0000])");
}

TEST_F(Print, SummarizesLargeTensors) {
  EXPECT_EQ(to_string(arange(1001)), "tensor([   0,    1,    2, ...,  998,  999, 1000], shape [1001], i64)");
  set_printoptions({.threshold = 20, .edge_items = 2});
  EXPECT_EQ(to_string(from_vector(arange(30).to_vector<int64_t>(), {6, 5})),
            "tensor([[ 0,  1, ...,  3,  4],\n"
            "        [ 5,  6, ...,  8,  9],\n"
            "        ...,\n"
            "        [20, 21, ..., 23, 24],\n"
            "        [25, 26, ..., 28, 29]], shape [6, 5], i64)");
}

TEST_F(Print, BreaksLongRows) {
  set_printoptions({.line_width = 20});
  EXPECT_EQ(to_string(arange(10, 18)),
            "tensor([10, 11, 12,\n"
            "        13, 14, 15,\n"
            "        16, 17], i64)");
}

TEST_F(Print, SupportsAPrecisionOption) {
  set_printoptions({.precision = 1});
  EXPECT_EQ(printoptions().precision, 1);
  EXPECT_EQ(to_string(tensor({1.25, 2})), "tensor([1.2, 2.0])");
  EXPECT_TAPE_ERROR(set_printoptions({.edge_items = 0}), ErrorKind::config,
                    "set_printoptions: precision 4 must be 0 to 17, threshold 1000 not negative, edge_items 0 and "
                    "line_width 100 at least 1");
  EXPECT_EQ(printoptions().precision, 1);
}

/// Formats 1.5 as 1;5 and groups thousands.
class OddNumbers : public std::numpunct<char> {
  char do_decimal_point() const override { return ';'; }
  char do_thousands_sep() const override { return '\''; }
  std::string do_grouping() const override { return "\3"; }
};

TEST_F(Print, IgnoresTheLocale) {
  const std::locale before = std::locale::global(std::locale(std::locale(), new OddNumbers));
  std::ostringstream stream;
  stream << tensor({1234.5}) << tensor({12345}, i64);
  std::locale::global(before);
  EXPECT_EQ(stream.str(), "tensor([1234.5000])tensor([12345], i64)");
}

}  // namespace
}  // namespace tape
