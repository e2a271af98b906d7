#include "base/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tape::text {
namespace {

using testing::ElementsAre;

TEST(Utf8, CutsTextIntoCodePoints) {
  EXPECT_THAT(code_points("aß→😀"), ElementsAre("a", "ß", "→", "😀"));
  EXPECT_THAT(code_points("ü\xFF\xC3"), ElementsAre("ü", "\xFF", "\xC3"));
}

TEST(Utf8, KnowsValidFromBroken) {
  for (const char* text : {"", "a", "ß", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80"}) {
    EXPECT_TRUE(valid_utf8(text)) << text;
  }
  for (const char* text : {"\x80", "\xC3", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x86", "\xE2\x86\x41", "a\xFF"}) {
    EXPECT_FALSE(valid_utf8(text));
  }
}

TEST(Utf8, MakesTextSafeForATerminal) {
  EXPECT_THAT(display_columns("ß\x1b[\n\xC2\x9B\xFF"), ElementsAre("ß", "�", "[", "�", "�", "�"));
  EXPECT_EQ(display_width("dreißig"), 7);
}

TEST(Utf8, ClipsByColumns) {
  EXPECT_EQ(clipped("fünfzig", 7), "fünfzig");
  EXPECT_EQ(clipped("fünfzig", 3), "fü…");
  EXPECT_EQ(clipped("fünfzig", 0), "");
  EXPECT_EQ(clipped("a\tb", 9), "a�b");
}

}  // namespace
}  // namespace tape::text
