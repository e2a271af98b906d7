#include "autograd/create.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Create, FillsTensorsOfEveryDtype) {
  for (DType dtype : {f32, f64, i64, boolean}) {
    EXPECT_EQ(zeros({2, 3}, dtype).to(f64).to_vector<double>(), std::vector<double>(6, 0.0));
    EXPECT_EQ(ones({2, 3}, dtype).to(f64).to_vector<double>(), std::vector<double>(6, 1.0));
    EXPECT_EQ(zeros({2, 3}, dtype).dtype(), dtype);
  }
  EXPECT_EQ(full({2}, 2.5).to_vector<float>(), (std::vector<float>{2.5f, 2.5f}));
  EXPECT_EQ(scalar(4, i64).rank(), 0);
  EXPECT_EQ(scalar(4, i64).item<int64_t>(), 4);
  EXPECT_EQ(zeros_like(ones({3}, i64)).dtype(), i64);
  EXPECT_EQ(ones_like(zeros({0, 2}, f64)).shape(), Shape({0, 2}));
  EXPECT_TRUE(tensors_equal(full_like(zeros({2}, i64), 7), tensor({7, 7}, i64)));
  EXPECT_EQ(rand_like(zeros({2, 3}, f64)).dtype(), f64);
  EXPECT_EQ(randn_like(zeros({2, 3}, f64)).shape(), Shape({2, 3}));
}

TEST(Create, GeneratesEvenlySpacedValues) {
  EXPECT_EQ(arange(4).to_vector<int64_t>(), (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(arange(5, 0, -2).to_vector<int64_t>(), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_TRUE(tensors_near(arange(0, 1, 0.25, f64), tensor({0, 0.25, 0.5, 0.75}, f64), 0));
  EXPECT_EQ(arange(0).numel(), 0);
  EXPECT_TAPE_ERROR(arange(0, 3, -1), ErrorKind::config, "arange: step -1 does not lead from 0 to 3");
  EXPECT_TAPE_ERROR(arange(0, 4e15, 1), ErrorKind::config, "arange: 4000000000000000 values requested, more than 1e15");
  EXPECT_TAPE_ERROR(arange(0, 3, 0), ErrorKind::config, "arange: step 0 does not lead from 0 to 3");
  EXPECT_TAPE_ERROR(arange(0, NAN, 1), ErrorKind::config, "arange: step 1 does not lead from 0 to nan");
  EXPECT_TRUE(tensors_near(linspace(0, 1, 5, f64), tensor({0, 0.25, 0.5, 0.75, 1}, f64), 0));
  EXPECT_EQ(linspace(2, 3, 1, f64).item(), 2);
  EXPECT_EQ(linspace(2, 3, 0).numel(), 0);
  EXPECT_TRUE(tensors_near(linspace(-1.7e308, 1.7e308, 101, f64) / 1.7e308, linspace(-1, 1, 101, f64), 1e-15));
  EXPECT_TAPE_ERROR(linspace(0, INFINITY, 3), ErrorKind::config,
                    "linspace: start and end must be finite, got 0 and inf");
  EXPECT_TAPE_ERROR(linspace(0, 1, -1), ErrorKind::config, "linspace: count must not be negative, got -1");
}

TEST(Create, GeneratesIntegersExactly) {
  EXPECT_EQ(arange(5, 0, -2, i64).to_vector<int64_t>(), (std::vector<int64_t>{5, 3, 1}));
  EXPECT_EQ(arange(254, 256, 1, u8).to_vector<uint8_t>(), (std::vector<uint8_t>{254, 255}));
  EXPECT_TAPE_ERROR(arange(0, 3, 0.5, i64), ErrorKind::config,
                    "arange: i64 needs integers of at most 2^53, got start 0 and step 0.5");
  EXPECT_TAPE_ERROR(arange(254, 260, 1, u8), ErrorKind::numeric, "arange: 256 does not fit u8");
}

TEST(Create, EyeHasOnesOnTheDiagonal) {
  EXPECT_TRUE(tensors_equal(eye(2, f64), tensor({{1, 0}, {0, 1}}, f64)));
  EXPECT_EQ(eye(0).shape(), Shape({0, 0}));
}

TEST(Create, AcceptsNestedBraces) {
  EXPECT_EQ(tensor({1, 2, 3}).shape(), Shape({3}));
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}).to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, i64).shape(), Shape({2, 2, 2}));
  EXPECT_EQ(tensor({2, 0, -1}, boolean).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(tensor({{7}, {8}}).shape(), (Shape{2, 1}));
  EXPECT_EQ(tensor({{{1}, {2}}, {{3}, {4}}}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(tensor({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_TAPE_ERROR(tensor({{1, 2}, 3}), ErrorKind::shape, "tensor: a list mixes numbers and lists");
  EXPECT_TAPE_ERROR(tensor({{1, 2, 9}, {3, 4}}), ErrorKind::shape, "tensor: rows have different lengths: 3 and 2");
}

TEST(Create, CopiesTheGivenValues) {
  std::vector<double> values{1, 2, 3, 4};
  const Tensor x = from_vector(values, {2, 2});
  values[0] = 9;
  EXPECT_EQ(x.data<double>()[0], 1);
  EXPECT_EQ(from_vector(std::vector<float>{}).shape(), Shape({0}));
  EXPECT_TAPE_ERROR(from_vector(values, {2, 3}), ErrorKind::shape,
                    "from_values: 4 values for shape [2, 3] (6 elements)");
}

TEST(Create, ConvertsValuesToADtype) {
  const Tensor x = from_vector(std::vector<double>{1.5, 2}, {2}, bf16);
  EXPECT_EQ(x.dtype(), bf16);
  EXPECT_EQ(x[0].item(), 1.5);
  EXPECT_EQ(from_vector(std::vector<int64_t>{3}, {1}, f64).item(), 3);
}

TEST(Create, RefusesInvalidShapes) {
  EXPECT_TAPE_ERROR(zeros({2, -1}), ErrorKind::shape, "shape: sizes must not be negative, got [2, -1]");
  EXPECT_TAPE_ERROR(zeros(std::vector<int64_t>(9, 1)), ErrorKind::shape, "shape: at most 8 axes are supported, got 9");
  EXPECT_TAPE_ERROR(zeros({4194305, 4194305, 211106198978564}), ErrorKind::shape,
                    "shape: the number of elements of [4194305, 4194305, 211106198978564] overflows");
  EXPECT_TAPE_ERROR(zeros({0, INT64_MAX, 2}), ErrorKind::shape,
                    "shape: the number of elements of [0, 9223372036854775807, 2] overflows");
  EXPECT_EQ(zeros({1, 1, 1, 1, 1, 1, 1, 1}).rank(), 8);
}

}  // namespace
}  // namespace tape
