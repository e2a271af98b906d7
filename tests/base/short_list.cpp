#include "base/short_list.h"

#include <gtest/gtest.h>

namespace tape {
namespace {

TEST(ShortList, ShowsAtMostTenEntriesAndCountsTheRest) {
  EXPECT_EQ(short_list({}), "none");
  EXPECT_EQ(short_list({"a", "b"}), "a, b");
  EXPECT_EQ(short_list(std::vector<std::string>(10, "a"), "; "), "a; a; a; a; a; a; a; a; a; a");
  EXPECT_EQ(short_list(std::vector<std::string>(40'000, "a"), "\n  "),
            "a\n  a\n  a\n  a\n  a\n  a\n  a\n  a\n  a\n  a\n  and 39990 more");
}

TEST(ShortList, CutsAndCleansEachEntry) {
  EXPECT_EQ(short_list({std::string(1000, 'a')}), std::string(179, 'a') + "…");
  EXPECT_EQ(short_list({"a\x1b[31m\ab"}), "a\uFFFD[31m\uFFFDb");
}

}  // namespace
}  // namespace tape
