#include "tests/support/tensors.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/core.h>

#include "autograd/ops/elementwise/cast.h"

namespace tape {

testing::AssertionResult tensors_near(const Tensor& actual, const Tensor& expected, double tolerance) {
  if (!actual.defined() || !expected.defined()) return testing::AssertionFailure() << "a tensor is undefined";
  if (actual.dtype() != expected.dtype())
    return testing::AssertionFailure() << "dtype " << to_string(actual.dtype()) << ", expected "
                                       << to_string(expected.dtype());
  if (actual.shape() != expected.shape())
    return testing::AssertionFailure() << "shape " << to_string(actual.shape()) << ", expected "
                                       << to_string(expected.shape());
  const std::vector<double> a = cast(actual.detach(), f64).to_vector<double>();
  const std::vector<double> b = cast(expected.detach(), f64).to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!(std::abs(a[i] - b[i]) <= tolerance * std::max(1.0, std::abs(b[i]))) || std::isinf(b[i]))
      return testing::AssertionFailure() << fmt::format("element {} is {:.17g}, expected {:.17g} (shape {})", i, a[i],
                                                        b[i], to_string(actual.shape()));
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult tensors_equal(const Tensor& actual, const Tensor& expected) {
  return tensors_near(actual, expected, 0);
}

}  // namespace tape
