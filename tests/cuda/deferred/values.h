#pragma once

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

// Operands of deferred calls, and their results beside those of the CPU.

namespace tape {

inline Tensor values_of(const Shape& shape, uint64_t seed, DType dtype, Device device) {
  Generator stream(seed);
  return randn(shape, {f32, cpu}, stream).to(dtype).to(device);
}

/// `expected` is exact, and of `actual` so many results are rounded to bf16.
inline void expect_same(const Tensor& actual, const Tensor& expected, int roundings = 1) {
  const double unit = actual.dtype() == bf16 ? roundings * 0x1p-8 : actual.dtype() == f32 ? 1e-6 : 1e-14;
  const double largest = max(abs(expected.to(f64))).item();
  const double few = actual.dtype() == f64 ? 1 : cuda_device::test_tolerance(1);
  EXPECT_TRUE(allclose(actual.to(cpu).to(f64), expected.to(f64), {.rtol = 0, .atol = few * unit * largest}));
}

/// Counts launches on the test device.
class DeferredCallTest : public testing::Test {
 protected:
  int64_t launches() const { return device.launches() + device.products(); }
  /// Number of launches of a call, which ends before their results are read.
  template <class Call>
  int64_t launches_of(const Call& call) const {
    const int64_t before = launches();
    call();
    return launches() - before;
  }
  cuda_device::TestDevice device;
};

}  // namespace tape
