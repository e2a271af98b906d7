// Regular expressions as the package tokenizers reads them; what is expected comes from it.
#include "text/tokenizers/pattern.h"

#include "tests/support/errors.h"
#include "tests/text/tokenizer_fixture.h"
#include "text/tokenizers/code_point_set.h"
#include "text/tokenizers/splitter.h"
#include "text/tokenizers/unicode.h"
#include "text/tokenizers/word_patterns.h"

namespace tape::text {
namespace {

using Words = std::vector<std::string>;

Words matches(const Pattern& pattern, const std::string& text) {
  Words out;
  for (const Range& range : pattern.matches(text)) out.push_back(text.substr(range.begin, range.end - range.begin));
  return out;
}
Words matches(std::string_view expression, const std::string& text) {
  return matches(*pcre2_pattern(expression, "f"), text);
}

TEST(Patterns, MeanWhatOnigurumaReads) {
  EXPECT_EQ(matches("a$", "a\na"), (Words{"a", "a"})) << "a line's end";
  EXPECT_EQ(matches("^b", "a\nb"), (Words{"b"}));
  EXPECT_EQ(matches("a.", "a\nab"), (Words{"ab"}));
  EXPECT_EQ(matches("(?m)a.", "a\nab"), (Words{"a\n", "ab"})) << "m is what is called s elsewhere";
  EXPECT_EQ(matches(R"(\h+)", "xaf0z"), (Words{"af0"})) << "hexadecimal digits";
  EXPECT_EQ(matches("a{1,2}+", "aaaaa"), (Words{"aaaaa"})) << "repeated, not possessive";
  EXPECT_EQ(matches("a{,2}b", "aaab"), (Words{"aab"}));
  EXPECT_EQ(matches("a{2}?", "aaa"), (Words{"aa", ""})) << "twice or not at all";
  EXPECT_EQ(matches("a{x}", "a{x}"), (Words{"a{x}"}));
  EXPECT_EQ(matches("[a[bc]]+", "xabcd"), (Words{"abc"})) << "a class in a class";
  EXPECT_EQ(matches("[a-z&&[^c]]+", "abcd"), (Words{"ab", "d"}));
  EXPECT_EQ(matches("[]a]+", "b]a"), (Words{"]a"}));
  EXPECT_EQ(matches(R"([\w-]+)", "a-b c"), (Words{"a-b", "c"}));
  EXPECT_EQ(matches(R"([^(\s|[.,!?])]+)", "ab, (c|d)"), (Words{"ab", "c", "d"}));
  EXPECT_EQ(matches("(?i:'s)", "'S 's '\xC5\xBF"), (Words{"'S", "'s", "'\xC5\xBF"}));
  EXPECT_EQ(matches("x(?i)a|b", "xA xB b"), (Words{"xA", "xB"})) << "options end with the group, not the alternative";
  EXPECT_EQ(matches(R"(\s+(?!\S))", "a  b  "), (Words{" ", "  "}));
  EXPECT_EQ(matches("x*", "axxb"), (Words{"", "xx", ""})) << "no empty match right behind another";
  EXPECT_EQ(matches("", "ab"), (Words{"", "", ""}));
  EXPECT_EQ(matches(R"(\b\w)", "ab c"), (Words{"a", "c"}));
  EXPECT_EQ(matches(R"(\u00e9|\x{1F600}|\x61|\t)",
                    "\xC3\xA9"
                    "a\t\xF0\x9F\x98\x80")
                .size(),
            4u);
  EXPECT_EQ(matches(R"(\p{^L}+|\P{^N})", "a1"), (Words{"1"}));
  EXPECT_EQ(matches(R"(\p{uppercase-letter}\p{Han})", "A\xE4\xBD\xA0"), (Words{"A\xE4\xBD\xA0"}));
  EXPECT_EQ(matches("(?#no)a(?=b)(?<!c)", "ab ac"), (Words{"a"}));
}

TEST(Patterns, KnowTheCodePointsOfThePackage) {
  const auto holds = [](std::string_view property, char32_t point) { return property_set(property)->contains(point); };
  EXPECT_TRUE(holds("L", 0x1C89)) << "of Unicode 16";
  EXPECT_TRUE(holds("N", 0x10D40));
  EXPECT_FALSE(holds("Cn", 0x1C89));
  EXPECT_TRUE(word_set().contains(0x301)) << "a mark";
  EXPECT_TRUE(word_set().contains(0x24B6)) << "a letter in a circle";
  EXPECT_FALSE(word_set().contains(0xB2)) << "superscript two";
  EXPECT_FALSE(white_space_set().contains(0x180E));
  EXPECT_FALSE(property_set("Klingon"));
  CodePointSet set;
  for (const auto& [first, last] : {std::pair{5, 9}, {1, 2}, {3, 4}, {20, 30}, {8, 21}})
    set.add(static_cast<char32_t>(first), static_cast<char32_t>(last));
  ASSERT_EQ(set.ranges().size(), 1u);
  EXPECT_EQ(set.ranges()[0].last, 30u);
  EXPECT_TRUE(set.common(set.complement()).ranges().empty());
  EXPECT_FALSE(set.complement().contains(0xD800));
}

// The functions for known expressions, and the library that reads them.
TEST(Patterns, OfKnownTokenizersAgreeWithPcre2) {
  std::vector<std::string> texts = tokenizer_fixture().at("texts").get<std::vector<std::string>>();
  for (const char* more : {"'S 'tIs I'LL we'Re '\xC5\xBF", " \n \r\n  x", "\r\na", "\n\n", " '' !!\n\n a", "1234567a12",
                           "a  b   ", "  ", "\t\tx", " \xFF\xFE 1", "\xC2\xA0x \xE2\x80\xA8 y", "\xC2\xA0!"})
    texts.emplace_back(more);
  for (char32_t point = 0; point < 0x3100; ++point) {
    std::string text = "a";
    append_utf8(point, text);
    text += " 1";
    append_utf8(point, text);
    texts.push_back(text + "b");
  }
  for (const WordPattern& known : word_patterns()) {
    const PatternPtr fast = regular_expression(known.expression, "f"), slow = pcre2_pattern(known.expression, "f");
    for (const std::string& text : texts) EXPECT_EQ(matches(*fast, text), matches(*slow, text)) << text;
  }
}

TEST(Patterns, ReadBrokenUtf8AsAReplacementCharacter) {
  const std::vector<Range> found = pcre2_pattern("[^a]", "f")
                                       ->matches(
                                           "a\xE2\x96"
                                           "a\xFF");
  EXPECT_EQ(found, (std::vector<Range>{{1, 3}, {4, 5}}));
}

TEST(Patterns, AreRefusedByName) {
  const auto refused = [](const std::string& expression, const std::string& sentence) {
    EXPECT_TAPE_ERROR(regular_expression(expression, "f.json: x"), ErrorKind::format,
                      fmt::format("f.json: x: the regular expression \"{}\": {}", expression, sentence));
  };
  refused("(a", "at 0: the group has no end");
  refused("a)", "at 1: no group was begun");
  refused("*", "at 0: there is nothing to repeat");
  refused("a|+", "at 2: there is nothing to repeat");
  refused("[a", "at 1: the class has no end");
  refused("[z-a]", "at 2: the range is empty");
  refused(R"(\p{Klingon})", "at 2: the property \"Klingon\" is not supported");
  refused(R"(\pL)", "at 2: a property needs braces, as in \\p{L}");
  refused(R"((a)\1)", "at 3: this escape is not supported");
  refused(R"(\R)", "at 0: this escape is not supported");
  refused("(?x)a", "at 0: this kind of group is not supported");
  refused("(?<n>a)", "at 0: this kind of group is not supported");
  refused("[[:alpha:]]", "at 3: this POSIX bracket is not supported");
  refused("a{2000}", "at 1: more than 1000 repeats");
  refused(R"(\x{110000})", "at 3: is no code point");
  refused(R"(\xC3)", "at 2: a byte of a character is not supported");
  refused(R"(a\)", "at 1: this escape is not supported");
  std::string classes;
  for (int i = 0; i < 100; ++i) classes += R"(\w)";
  EXPECT_THROW(regular_expression(classes, "f"), Error);
  for (const char* varying : {"(?<=a+)b", "(?<=a{1,3})b", "(?<!a?)b", "(?<=x(?:c|de))d"})
    refused(varying, "a lookbehind that can match texts of different lengths is not supported");
  EXPECT_EQ(regular_expression("(?<=ab|c)d", "f")->matches("abdcd").size(), 2u);
}

TEST(Patterns, EndWhereTheyTakeTooManySteps) {
  const std::string text = std::string(40, 'a') + "b";
  const PatternPtr hostile = regular_expression("(a|aa)+$", "f");
  EXPECT_TAPE_ERROR(hostile->matches(text), ErrorKind::format,
                    "f: the regular expression \"(a|aa)+$\": takes too many steps on a text of 41 bytes");
  // What takes many steps, though not too many, comes to its end.
  const std::string blanks(20'000, ' ');
  EXPECT_EQ(pcre2_pattern(R"(\s+(?!\S)|\s*x)", "f")->matches(blanks + "x").size(), 2u);
}

/// What becomes of "--a-b--c" split at its dashes.
Words split(SplitBehavior behavior, bool invert) {
  Normalized text("--a-b--c");
  std::vector<Range> words{{0, 8}};
  split_pre_tokenizer(literal_pattern("-"), behavior, invert)->apply(text, words, true);
  Words out;
  for (const Range& word : words) out.push_back(text.text.substr(word.begin, word.end - word.begin));
  return out;
}

TEST(Split, TreatsMatchesAsThePackage) {
  using enum SplitBehavior;
  EXPECT_EQ(split(removed, false), (Words{"a", "b", "c"}));
  EXPECT_EQ(split(removed, true), (Words{"-", "-", "-", "-", "-"}));
  EXPECT_EQ(split(isolated, false), (Words{"-", "-", "a", "-", "b", "-", "-", "c"}));
  EXPECT_EQ(split(isolated, true), split(isolated, false));
  EXPECT_EQ(split(merged_with_previous, false), (Words{"-", "-", "a-", "b-", "-", "c"}));
  EXPECT_EQ(split(merged_with_previous, true), (Words{"-", "-a", "-b", "-", "-c"}));
  EXPECT_EQ(split(merged_with_next, false), split(merged_with_previous, true));
  EXPECT_EQ(split(merged_with_next, true), split(merged_with_previous, false));
  EXPECT_EQ(split(contiguous, false), (Words{"--", "a", "-", "b", "--", "c"}));
  EXPECT_EQ(split(contiguous, true), split(contiguous, false));
}

}  // namespace
}  // namespace tape::text
