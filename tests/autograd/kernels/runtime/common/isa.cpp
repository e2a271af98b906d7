#include "autograd/kernels/runtime/common/isa.h"

#include <cstdlib>
#include <stdexcept>

#include "base/error.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

TEST(IsaLevels, SetIsaAcceptsLevelsTheCpuRuns) {
  const Isa before = isa();
  for (const Isa level : levels()) {
    set_isa(level);
    EXPECT_EQ(isa(), level);
  }
  set_isa(before);
}

TEST(IsaLevels, SetIsaRefusesLevelsTheCpuCannotRun) {
  const Isa before = isa(), foreign = supported_isa() == Isa::portable ? Isa::v2 : Isa::portable;
  EXPECT_THROW(set_isa(foreign), Error);
  EXPECT_EQ(isa(), before);
}

/// A new process reads TAPE_ISA again: it exits with the value of its level, or with 42 if isa() throws.
void exit_with_level(const char* value) {
  setenv("TAPE_ISA", value, 1);
  try {
    std::exit(static_cast<int>(isa()));
  } catch (const Error&) {
    std::exit(42);
  }
}

TEST(IsaLevelsDeathTest, TheEnvironmentLowersTheLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Isa lowest = levels().front();
  EXPECT_EXIT(exit_with_level(std::string(to_string(lowest)).c_str()),
              ::testing::ExitedWithCode(static_cast<int>(lowest)), "");
  EXPECT_EXIT(exit_with_level(""), ::testing::ExitedWithCode(static_cast<int>(supported_isa())), "");
  EXPECT_EXIT(exit_with_level("v9"), ::testing::ExitedWithCode(42), "");
}

}  // namespace
}  // namespace tape::kernels::testing
