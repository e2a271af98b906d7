#pragma once

#include <gtest/gtest.h>

#include "autograd/tensor.h"

namespace tape {

/// For EXPECT_TRUE: same dtype, same shape and every |actual - expected| <= tolerance * max(1, |expected|); NaN is near
/// NaN, infinity near the same infinity.
testing::AssertionResult tensors_near(const Tensor& actual, const Tensor& expected, double tolerance);

testing::AssertionResult tensors_equal(const Tensor& actual, const Tensor& expected);

}  // namespace tape
