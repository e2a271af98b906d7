#include "base/check.h"

#include "tests/support/errors.h"

namespace tape {
namespace {

TEST(CheckAtLeastOne, NamesTheFirstValueBelowOne) {
  check_at_least_one("Gpt", {{"layers", 1}, {"heads", 12}});
  EXPECT_TAPE_ERROR(check_at_least_one("Gpt", {{"layers", 1}, {"heads", 0}, {"vocab", -1}}), ErrorKind::config,
                    "Gpt: heads must be at least 1, got 0");
}

}  // namespace
}  // namespace tape
