#include "base/number_text.h"

#include <gtest/gtest.h>

namespace tape {
namespace {

TEST(NumberText, GroupsThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

TEST(NumberText, UsesThePluralForCountsOtherThanOne) {
  EXPECT_EQ(counted(1, "line"), "1 line");
  EXPECT_EQ(counted(0, "line"), "0 lines");
  EXPECT_EQ(counted(29000, "line"), "29,000 lines");
}

TEST(NumberText, ParsesOnlyIntegers) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-12"), -12);
  EXPECT_EQ(parse_int("9223372036854775807"), INT64_MAX);
  for (const char* text : {"", "-", "1.0", "1 ", " 1", "+1", "one", "9223372036854775808"})
    EXPECT_FALSE(parse_int(text)) << text;
}

TEST(NumberText, ChoosesTheByteUnit) {
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(12.34 * 1024 * 1024), "12.3 MiB");
  EXPECT_EQ(format_bytes(5e12), "4656.6 GiB");
}

}  // namespace
}  // namespace tape
