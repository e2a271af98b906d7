// The search for the guilty operation on every layer and model of the registry: their gradients are right, so it must
// name none.

#include <gmock/gmock.h>

#include "nn/check.h"

namespace tape::nn {
namespace {

TEST(ModuleBlame, FindsNothingInRightLayers) {
  // Differences with a step this large miss right gradients, so that the check fails and the search begins.
  const Checker check(Derivative::first, {.eps = 3e-3, .rtol = 1e-14, .atol = 0, .max_elements = 2});
  int searched = 0;
  for (const ModuleCheck* module : registered_module_checks()) {
    const GradcheckReport report = module->run(check);
    if (report.blame.empty() && report.guilty.empty()) continue;
    ++searched;
    EXPECT_THAT(report.blame, testing::StartsWith("No operation is guilty"))
        << module->type() << ": " << module->label();
    for (const GuiltyOperation& guilty : report.guilty)
      ADD_FAILURE() << module->type() << ", " << module->label() << ": " << to_string(guilty);
  }
  EXPECT_GT(searched, 20);
}

}  // namespace
}  // namespace tape::nn
