#pragma once

#include <gtest/gtest.h>

#include <limits>

#include "autograd/create.h"

namespace tape {

inline constexpr double inf = std::numeric_limits<double>::infinity();

inline constexpr DType every_dtype[] = {boolean, u8, i32, i64, f16, bf16, f32, f64};

/// Returns [[1, 2, 3], [4, 5, 6]].
inline const Tensor one_to_six = tensor({{1, 2, 3}, {4, 5, 6}});

/// For EXPECT_TRUE: same dtype, same shape and every |actual - expected| <= tolerance * max(1, |expected|); NaN equals
/// NaN, and infinity the same infinity.
testing::AssertionResult tensors_near(const Tensor& actual, const Tensor& expected, double tolerance);

testing::AssertionResult tensors_equal(const Tensor& actual, const Tensor& expected);

}  // namespace tape
