// Regular expressions with the semantics of the tokenizers package, which gave the expected values.
#include <fmt/format.h>

#include "text/tokenizers/patterns/pattern.h"

#include "tests/support/errors.h"
#include "tests/text/tokenizers/tokenizer_fixture.h"
#include "text/tokenizers/patterns/unicode.h"
#include "text/tokenizers/patterns/word_patterns.h"
#include "text/tokenizers/steps/pre_tokenizer.h"

namespace tape::text {
namespace {

using Words = std::vector<std::string>;

Words matches(const Pattern& pattern, const std::string& text) {
  Words out;
  for (const Range& range : pattern(text)) out.push_back(text.substr(range.begin, range.end - range.begin));
  return out;
}
Words matches(std::string_view expression, const std::string& text) {
  return matches(oniguruma_pattern(expression, "f"), text);
}

TEST(Patterns, FollowOnigurumasSyntax) {
  EXPECT_EQ(matches("a$", "a\na"), (Words{"a", "a"})) << "end of a line";
  EXPECT_EQ(matches("^b", "a\nb"), (Words{"b"}));
  EXPECT_EQ(matches("a.", "a\nab"), (Words{"ab"}));
  EXPECT_EQ(matches("(?m)a.", "a\nab"), (Words{"a\n", "ab"})) << "m means what is s elsewhere";
  EXPECT_EQ(matches(R"(\h+)", "xaf0z"), (Words{"af0"})) << "hexadecimal digits";
  EXPECT_EQ(matches("a{1,2}+", "aaaaa"), (Words{"aaaaa"})) << "repeated, not possessive";
  EXPECT_EQ(matches("a{,2}b", "aaab"), (Words{"aab"}));
  EXPECT_EQ(matches("a{2}?", "aaa"), (Words{"aa", ""})) << "two or none";
  EXPECT_EQ(matches("a{x}", "a{x}"), (Words{"a{x}"}));
  EXPECT_EQ(matches("[a[bc]]+", "xabcd"), (Words{"abc"})) << "a nested class";
  EXPECT_EQ(matches("[a-z&&[^c]]+", "abcd"), (Words{"ab", "d"}));
  EXPECT_EQ(matches("[]a]+", "b]a"), (Words{"]a"}));
  EXPECT_EQ(matches(R"([\w-]+)", "a-b c"), (Words{"a-b", "c"}));
  EXPECT_EQ(matches(R"([^(\s|[.,!?])]+)", "ab, (c|d)"), (Words{"ab", "c", "d"}));
  EXPECT_EQ(matches("(?i:'s)", "'S 's '\xC5\xBF"), (Words{"'S", "'s", "'\xC5\xBF"}));
  EXPECT_EQ(matches("x(?i)a|b", "xA xB b"), (Words{"xA", "xB"})) << "options end with the group, not the alternative";
  EXPECT_EQ(matches(R"(\s+(?!\S))", "a  b  "), (Words{" ", "  "}));
  EXPECT_EQ(matches("x*", "axxb"), (Words{"", "xx", ""})) << "no empty match right after another";
  EXPECT_EQ(matches("", "ab"), (Words{"", "", ""}));
  EXPECT_EQ(matches("", ""), Words{}) << "an empty text is not searched";
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

TEST(Patterns, SupportReferencesLookaroundsAndPosixBrackets) {
  EXPECT_EQ(matches(R"((a|b)\1)", "aabbab"), (Words{"aa", "bb"}));
  EXPECT_EQ(matches(R"((?<n>a)\k<n>)", "aaba"), (Words{"aa"}));
  EXPECT_EQ(matches(R"(\R)", "a\r\nb\nc\u2028"), (Words{"\r\n", "\n", "\u2028"}));
  EXPECT_EQ(matches(R"(\X)", "e\u0301x"), (Words{"e\u0301", "x"}));
  EXPECT_EQ(matches("(?x) a b # c", "abab"), (Words{"ab", "ab"}));
  EXPECT_EQ(matches("[[:alpha:]]+", "a\u00e91_"), (Words{"a\u00e9"}));
  EXPECT_EQ(matches("[[:punct:]]+", "a+,$b\u00a7"), (Words{"+,$", "\u00a7"}));
  EXPECT_EQ(matches("(?<=a+)b", "aabcb"), (Words{"b"})) << "a lookbehind of any length";
  EXPECT_EQ(matches("(?~ab)", "ccabcc"), (Words{"cc", "bcc"})) << "anything without ab";
  EXPECT_EQ(matches("a{2000}", std::string(2001, 'a')), (Words{std::string(2000, 'a')}));
}

TEST(Patterns, FoldCaseLikeOniguruma) {
  EXPECT_EQ(matches("(?i:stra\u00dfe)", "STRASSE strasse STRA\u00dfE"), (Words{"STRASSE", "strasse", "STRA\u00dfE"}));
  EXPECT_EQ(matches("(?i:ss)", "\u00df \u1e9e \u017fs SS"), (Words{"\u00df", "\u1e9e", "\u017fs", "SS"}));
  EXPECT_EQ(matches(R"((?i)[\p{Lu}]+)", "abCd1"), (Words{"abCd"})) << "a class in brackets is folded";
  EXPECT_EQ(matches(R"((?i:\p{Lu})+)", "abCD"), (Words{"CD"})) << "on its own it is not";
  EXPECT_EQ(matches("(?i:[a-z])", "\u212a"), (Words{"\u212a"})) << "the Kelvin sign is a k";
  // Unicode 16, which Oniguruma supports since 6.9.10.
  EXPECT_EQ(matches("(?i:\ua7cb)", "\u0264"), (Words{"\u0264"}));
  EXPECT_EQ(matches("(?i:\u019b)", "\ua7dc"), (Words{"\ua7dc"}));
  EXPECT_EQ(matches("(?i:[\u0264])", "\ua7cb"), (Words{"\ua7cb"}));
}

/// All code points except surrogates.
const std::string& all_code_points() {
  static const auto& made = *new const std::string([] {
    std::string text;
    for (char32_t point = 0; point < 0x110000; ++point)
      if (point < 0xD800 || point > 0xDFFF) append_utf8(point, text);
    return text;
  }());
  return made;
}

struct CodePoints {
  size_t count;
  uint64_t hash;  // FNV-1a
  bool operator==(const CodePoints&) const = default;
};

struct ClassCase {
  const char* expression;
  CodePoints wanted;  // from tokenizers 0.23.1
};

CodePoints code_points_of(std::string_view expression) {
  CodePoints out{0, 14695981039346656037u};
  const std::string_view text = all_code_points();
  for (const Range& range : oniguruma_pattern(expression, "f")(text)) {
    const CodePoint point = decode_utf8(text.substr(range.begin));
    ++out.count;
    out.hash = (out.hash ^ point.value) * 1099511628211u;
  }
  return out;
}

class PatternClasses : public testing::TestWithParam<ClassCase> {};

TEST_P(PatternClasses, MatchTheCodePointsOfThePackage) {
  const auto& [expression, wanted] = GetParam();
  const CodePoints found = code_points_of(expression);
  EXPECT_EQ(found.count, wanted.count) << expression;
  EXPECT_EQ(found.hash, wanted.hash) << expression;
}

INSTANTIATE_TEST_SUITE_P(
    AllCodePoints, PatternClasses,
    testing::Values(
        ClassCase{R"(\w)", {144671, 0xBA0BA63C2887B6D9}}, ClassCase{R"(\W)", {967393, 0xCEE07A06BD4A8E0F}},
        ClassCase{R"([^\w])", {967399, 0x35765F9ABEFFF408}}, ClassCase{R"(\d)", {760, 0x8AB68431D58920AD}},
        ClassCase{R"(\s)", {25, 0x231591AD12FFE059}}, ClassCase{R"(\h)", {22, 0x204C49F48D8FBC62}},
        ClassCase{R"(\p{L})", {141028, 0x9ABBEC5090CDD78D}}, ClassCase{R"(\p{Lu})", {1858, 0xE0E481F9B9AC6D08}},
        ClassCase{R"((?i:[\p{Lu}]))", {3266, 0x6C85FB1CF954415D}},
        ClassCase{R"((?i:[\p{Lt}\p{Ll}]))", {3676, 0x6CBD161381FB41B6}},
        ClassCase{R"(\p{M})", {2501, 0x9B555C284B44A194}}, ClassCase{R"(\p{N})", {1911, 0x88882B4D56227662}},
        ClassCase{R"(\p{P})", {855, 0xFF1C1FA0EE0C80AE}}, ClassCase{R"(\p{S})", {8514, 0xEF33214FFA8A60DA}},
        ClassCase{R"(\p{C})", {957236, 0xF586A4B0373FBCF9}}, ClassCase{R"(\p{Cn})", {819533, 0xDB6360DE0BE4AB9D}},
        ClassCase{R"([[:punct:]])", {9369, 0x758ACA89BB6FB78D}},
        ClassCase{R"([[:alpha:]])", {142759, 0x8876FD6512EB5D44}},
        ClassCase{R"([[:upper:]])", {1978, 0x2475590B62CAB912}},
        ClassCase{R"([[:lower:]])", {2569, 0x2185094A38B193C0}},
        ClassCase{R"([[:graph:]])", {292447, 0xA753DFA9E23E3E20}}, ClassCase{R"(\p{Han})", {99030, 0x98F19CEB0CE18CDB}},
        ClassCase{R"(\p{Latin})", {1487, 0xCB50FE6CA387F485}}, ClassCase{R"(\p{Emoji})", {1431, 0x7C44D529EE7B8B7F}}));

// The dedicated functions for known expressions match the library.
TEST(Patterns, HaveFastVersionsThatMatchOniguruma) {
  std::vector<std::string> texts = tokenizer_fixture().at("texts").get<std::vector<std::string>>();
  for (const char* more : {"'S 'tIs I'LL we'Re '\xC5\xBF", " \n \r\n  x", "\r\na", "\n\n", " '' !!\n\n a", "1234567a12",
                           "y'rea l'LLb v'vEc r've 'lr 'rl", "a  b   ", "  ", "\t\tx", " \xFF\xFE 1",
                           "\xC2\xA0x \xE2\x80\xA8 y", "\xC2\xA0!"})
    texts.emplace_back(more);
  for (char32_t point = 0; point < 0x3100; ++point) {
    std::string text = "a";
    append_utf8(point, text);
    text += " 1";
    append_utf8(point, text);
    texts.push_back(text + "b");
  }
  for (const WordPattern& known : word_patterns()) {
    const Pattern fast = regular_expression(known.expression, "f"), slow = oniguruma_pattern(known.expression, "f");
    for (const std::string& text : texts) EXPECT_EQ(matches(fast, text), matches(slow, text)) << text;
  }
}

TEST(Patterns, ReadInvalidUtf8AsReplacementCharacters) {
  const std::vector<Range> found = oniguruma_pattern("[^a]", "f")(
      "a\xE2\x96"
      "a\xFF");
  EXPECT_EQ(found, (std::vector<Range>{{1, 3}, {4, 5}}));
}

TEST(Patterns, AreNamedIfTheyAreInvalid) {
  const auto refused = [](const std::string& expression, const std::string& sentence) {
    EXPECT_TAPE_ERROR(regular_expression(expression, "f.json: x"), ErrorKind::format,
                      fmt::format("f.json: x: the regular expression \"{}\": {}", clipped(expression, 100), sentence));
  };
  refused("(a", "end pattern with unmatched parenthesis");
  refused("a)", "unmatched close parenthesis");
  refused("*", "target of repeat operator is not specified");
  refused("[a", "premature end of char-class");
  refused("[z-a]", "empty range in char class");
  refused(R"(\p{Klingon})", "invalid character property name {Klingon}");
  refused(R"((?(1)a|b))", "invalid backref number/name");
  refused(R"((?<n>\g<n>))", "never ending recursion");
  refused("a{100001}", "too big number for repeat range");
  refused("(?:(?:(?:a{1000}){1000}){1000}){1000}", "too big number for repeat range");
  refused(R"(\xC3)", "too short multibyte code string");
  refused(R"(a\)", "end pattern at escape");
  refused(std::string(5000, '(') + std::string(5000, ')'), "parse depth limit over");
  refused(std::string(40'000, 'a'), "has 40000 bytes, more than 32768");
}

TEST(Patterns, StopAfterTooManySteps) {
  for (const std::string hostile : {"(a+)+$", "(a|aa)+$", "(a|a?)+$"}) {
    const std::string text = std::string(40, 'a') + "b";
    EXPECT_TAPE_ERROR(
        regular_expression(hostile, "f")(text), ErrorKind::format,
        fmt::format("f: the regular expression \"{}\": takes too many steps on a text of 41 bytes", hostile));
  }
  // Many steps, but fewer than the limit.
  const std::string blanks(20'000, ' ');
  EXPECT_EQ(oniguruma_pattern(R"(\s+(?!\S)|\s*x)", "f")(blanks + "x").size(), 2u);
}

/// The parts of "--a-b--c" split at its dashes.
Words split(SplitBehavior behavior, bool invert) {
  Normalized text("--a-b--c");
  std::vector<Range> words{{0, 8}};
  split_pre_tokenizer(literal_pattern("-"), behavior, invert)(text, words, true);
  Words out;
  for (const Range& word : words) out.push_back(text.text.substr(word.begin, word.end - word.begin));
  return out;
}

TEST(Split, TreatsMatchesLikeThePackage) {
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
