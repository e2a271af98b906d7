#include "base/utf8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tape {
namespace {

using testing::ElementsAre;

TEST(Utf8, SplitsTextIntoCodePoints) {
  EXPECT_THAT(code_points("aß→😀"), ElementsAre("a", "ß", "→", "😀"));
  EXPECT_THAT(code_points("ü\xFF\xC3"), ElementsAre("ü", "\xFF", "\xC3"));
  EXPECT_THAT(code_points("\xE2\x86\x41"), ElementsAre("\xE2", "\x86", "A"));
}

TEST(Utf8, TellsValidFromInvalidText) {
  for (const char* text : {"", "a", "ß", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF", "\xF0\x90\x80\x80"}) {
    EXPECT_TRUE(valid_utf8(text)) << text;
  }
  for (const char* text : {"\x80", "\xC3", "\xC0\xAF", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x86", "\xE2\x86\x41", "a\xFF"}) {
    EXPECT_FALSE(valid_utf8(text));
  }
}

TEST(Utf8, FindsTheStartOfAnInvalidSequence) {
  EXPECT_EQ(first_invalid_utf8("aß😀"), std::nullopt);
  EXPECT_EQ(first_invalid_utf8("aß\xFFz"), 3u);
  EXPECT_EQ(first_invalid_utf8("ab\xF0\x9F\x98"), 2u);
}

TEST(Utf8, RoundTripsCodePoints) {
  for (const char32_t point : {U'a', U'ß', U'→', U'😀', char32_t{0x10FFFF}}) {
    std::string text;
    append_utf8(point, text);
    const CodePoint decoded = decode_utf8(text + "x");
    EXPECT_TRUE(decoded.valid);
    EXPECT_EQ(decoded.value, point);
    EXPECT_EQ(decoded.length, text.size());
  }
  EXPECT_EQ(replace_invalid_utf8("a\xE2\x86z\xFF"), "a\uFFFDz\uFFFD");
}

TEST(Utf8, MeasuresTextAsATerminalShowsIt) {
  EXPECT_EQ(display_width("dreißig"), 7);
  EXPECT_EQ(display_width("数字"), 4) << "wide characters take two columns";
  EXPECT_EQ(display_width("é"), 1);
  EXPECT_EQ(display_width("e\u0301"), 1) << "a combining accent takes none";
  EXPECT_EQ(display_width("a\n\xFF"), 3) << "what cannot be shown becomes a replacement character";
  EXPECT_EQ(display_width(""), 0);
}

TEST(Utf8, MakesTextSafeForATerminal) {
  EXPECT_EQ(clipped("ß\x1b[\n\xC2\x9B\xFF", 10), "ß\uFFFD[\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(clipped("a\tb", 9), "a\uFFFDb");
}

TEST(Utf8, ClipsByColumns) {
  EXPECT_EQ(clipped("fünfzig", 7), "fünfzig");
  EXPECT_EQ(clipped("fünfzig", 3), "fü…");
  EXPECT_EQ(clipped("fünfzig", 0), "");
  EXPECT_EQ(clipped("数字数", 6), "数字数");
  EXPECT_EQ(clipped("数字数", 5), "数字…");
  EXPECT_EQ(clipped("数字数", 4), "数…") << "half a wide character does not fit";
  EXPECT_EQ(clipped("e\u0301e\u0301e", 2), "e\u0301…");
}

}  // namespace
}  // namespace tape
