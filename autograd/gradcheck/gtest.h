#pragma once

#include <gtest/gtest.h>

#include "gradcheck.h"
#include "registered.h"

namespace tape {

/// For EXPECT_TRUE(gradients_match(gradcheck(...))): prints the report on failure.
inline testing::AssertionResult gradients_match(const GradcheckReport& report) {
  if (report.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\n" << to_string(report);
}

namespace detail {

/// Test of one registered operation or layer.
class RegisteredTest : public testing::Test {
 public:
  RegisteredTest(RegisteredCheck check, Derivative derivative, GradcheckOptions options)
      : check_(std::move(check)), derivative_(derivative), options_(std::move(options)) {}
  void TestBody() override {
    for (const RegisteredSample& sample : check_.samples)
      EXPECT_TRUE(gradients_match(sample.check(derivative_, options_))) << sample.label;
  }

 private:
  const RegisteredCheck check_;
  const Derivative derivative_;
  const GradcheckOptions options_;
};

}  // namespace detail

/// Adds a test for each operation and layer that the program registered: Gradient.swish, SecondDerivative.swish. Call
/// it before RUN_ALL_TESTS():
///
///   int main(int argc, char** argv) {
///     testing::InitGoogleTest(&argc, argv);
///     tape::register_gradient_tests();
///     return RUN_ALL_TESTS();
///   }
///
/// Returns the number of tests added.
inline int64_t register_gradient_tests(const RegisteredOptions& options = {}) {
  int64_t added = 0;
  for (const RegisteredCheck& check : registered_checks()) {
    const auto add = [&](const char* suite, Derivative derivative) {
      testing::RegisterTest(suite, check.name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [check, derivative, gradcheck = options.gradcheck]() -> testing::Test* {
                              return new detail::RegisteredTest(check, derivative, gradcheck);
                            });
      ++added;
    };
    add("Gradient", Derivative::first);
    if (options.second_derivatives) add("SecondDerivative", Derivative::second);
  }
  return added;
}

}  // namespace tape
