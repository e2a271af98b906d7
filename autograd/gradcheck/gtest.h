#pragma once

#include <gtest/gtest.h>

#include "gradcheck.h"

namespace tape {

/// For EXPECT_TRUE(gradients_match(gradcheck(...))): a failure shows the report.
inline testing::AssertionResult gradients_match(const GradcheckReport& report) {
  if (report.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\n" << to_string(report);
}

}  // namespace tape
