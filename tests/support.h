#pragma once

#include <cmath>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "autograd/ops/cast.h"
#include "autograd/tensor.h"
#include "base/error.h"

// What the tests of every folder share.

namespace tape {

inline const char* kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::shape:
      return "shape";
    case ErrorKind::dtype:
      return "dtype";
    case ErrorKind::index:
      return "index";
    case ErrorKind::config:
      return "config";
    case ErrorKind::graph:
      return "graph";
    case ErrorKind::format:
      return "format";
    case ErrorKind::io:
      return "io";
    case ErrorKind::numeric:
      return "numeric";
    case ErrorKind::out_of_memory:
      return "out_of_memory";
  }
  return "?";
}
inline std::ostream& operator<<(std::ostream& stream, ErrorKind kind) { return stream << kind_name(kind); }

inline void expect_tape_error(const std::function<void()>& call, ErrorKind kind, const std::string& sentence,
                              const char* text, const char* file, int line) {
  try {
    call();
    ADD_FAILURE_AT(file, line) << text << " threw nothing; expected\n  " << sentence;
  } catch (const Error& error) {
    if (error.kind() != kind || sentence != error.what())
      ADD_FAILURE_AT(file, line) << text << "\n  threw (" << error.kind() << ") " << error.what() << "\n  expected ("
                                 << kind << ") " << sentence;
  } catch (const std::exception& error) {
    ADD_FAILURE_AT(file, line) << text << "\n  threw no tape::Error but " << error.what();
  }
}

/// Checks that an expression throws tape::Error of a kind, with exactly this sentence.
#define EXPECT_TAPE_ERROR(expression, kind, sentence) \
  ::tape::expect_tape_error([&] { static_cast<void>(expression); }, (kind), (sentence), #expression, __FILE__, __LINE__)

/// For EXPECT_TRUE: same dtype, same shape and every |actual - expected| <= tolerance * max(1, |expected|); NaN is near
/// NaN, infinity near the same infinity.
inline testing::AssertionResult tensors_near(const Tensor& actual, const Tensor& expected, double tolerance) {
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

inline testing::AssertionResult tensors_equal(const Tensor& actual, const Tensor& expected) {
  return tensors_near(actual, expected, 0);
}

}  // namespace tape
