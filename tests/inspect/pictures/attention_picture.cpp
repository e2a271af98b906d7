#include "inspect/pictures/attention_picture.h"

#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/utf8.h"

namespace tape::inspect {
namespace {

const std::vector<std::string> sources = {"drei", "und", "dreißig"};
const std::vector<std::string> targets = {"thirty", "-", "three"};
const std::vector<double> weights = {0.01, 0.09, 0.90,  //
                                     0.20, 0.60, 0.20,  //
                                     0.45, 0.30, 0.25};

TEST(AttentionPicture, DrawsShadesWithoutColors) {
  EXPECT_EQ(attention_picture(weights, targets, sources, {.title = "dreiunddreißig"}),
            "dreiunddreißig\n"
            "        drei\n"
            "        │   und\n"
            "        │   │   dreißig\n"
            "thirty  ·   ░░ [██] ◂ dreißig 90%\n"
            "     -  ░░ [▓▓] ░░  ◂ und 60%\n"
            " three [▒▒] ▒▒  ▒▒  ◂ drei 45%\n"
            "        · 0%  ░ 5%  ▒ 25%  ▓ 50%  █ 75%  [ ] strongest\n");
}

TEST(AttentionPicture, DrawsAHeatMapIn256Colors) {
  EXPECT_EQ(attention_picture(std::vector<double>{0.3, 0.7}, std::vector<std::string>{"x"},
                              std::vector<std::string>{"a", "b"}, {.colors = Colors::ansi256}),
            "   a\n"
            "   │   b\n"
            "x \x1b[97;48;5;30m    \x1b[30;48;5;113m 70 \x1b[0m ◂ b 70%\n"
            "   0% "
            "\x1b[97;48;5;53m \x1b[97;48;5;54m \x1b[97;48;5;54m \x1b[97;48;5;24m \x1b[97;48;5;30m \x1b[97;48;5;30m "
            "\x1b[97;48;5;36m \x1b[97;48;5;36m \x1b[30;48;5;72m \x1b[30;48;5;77m \x1b[30;48;5;77m \x1b[30;48;5;113m "
            "\x1b[30;48;5;149m \x1b[30;48;5;149m \x1b[30;48;5;185m \x1b[30;48;5;185m \x1b[30;48;5;227m \x1b[0m 100%\n");
}

TEST(AttentionPicture, DrawsAHeatMapInTrueColor) {
  const std::string picture = attention_picture(std::vector<double>{0.25, 1}, std::vector<std::string>{"x"},
                                                std::vector<std::string>{"a", "b"}, {.colors = Colors::truecolor});
  EXPECT_THAT(picture,
              testing::HasSubstr("x \x1b[97;48;2;59;82;139m    \x1b[30;48;2;253;231;37m100 \x1b[0m ◂ b 100%\n"));
}

TEST(AttentionPicture, NarrowsItsCellsAndThenSplits) {
  std::vector<std::string> many;
  std::vector<double> even;
  for (int i = 0; i < 24; ++i) {
    many.push_back(fmt::format("s{}", i));
    even.push_back(i == 13 ? 0.54 : 0.02);
  }
  const std::vector<std::string> target = {"x"};
  for (int64_t columns = 40; columns <= 120; ++columns) {
    const std::string picture = attention_picture(even, target, many, {.columns = columns});
    std::istringstream lines(picture);
    for (std::string line; std::getline(lines, line);) {
      if (line.find("strongest") == std::string::npos) {
        EXPECT_LE(display_width(line), columns) << picture;
      }
    }
    for (const auto& label : many) EXPECT_THAT(picture, testing::HasSubstr(label + "\n")) << columns;
  }
  const std::string halves = attention_picture(even, target, many, {.columns = 40});
  EXPECT_THAT(halves, testing::HasSubstr("\nx · · · · · · · · · · · · ·  ◂ s13 54%\n"));
  EXPECT_THAT(halves, testing::HasSubstr("\nx ▓◂· · · · · · · · · ·  ◂ s13 54%\n"));
  EXPECT_THAT(halves, testing::HasSubstr("\n\n  s13\n  │ s14\n"))
      << "a second picture for the sources that do not fit into the first";
}

TEST(AttentionPicture, ShowsUnusualValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(attention_picture(std::vector<double>{nan, 2, 0, 0, -1, nan}, std::vector<std::string>{"a", "b", "c"},
                              std::vector<std::string>{"x", "y"}),
            "   x\n"
            "   │   y\n"
            "a  ?  [██] ◂ y 100%\n"
            "b  ·   ·  \n"
            "c  ·   ?  \n"
            "   · 0%  ░ 5%  ▒ 25%  ▓ 50%  █ 75%  [ ] strongest\n");
}

TEST(AttentionPicture, TruncatesLabelsAndRemovesControlCharacters) {
  const std::string picture =
      attention_picture(std::vector<double>{1}, std::vector<std::string>{"a\x1b[2J"},
                        std::vector<std::string>{"Donaudampfschifffahrt"}, {.longest_label = 6});
  EXPECT_EQ(picture,
            "       Donau…\n"
            "a�[2J [██] ◂ Donau… 100%\n"
            "       · 0%  ░ 5%  ▒ 25%  ▓ 50%  █ 75%  [ ] strongest\n");
}

TEST(AttentionPicture, AcceptsEmptyInput) {
  EXPECT_EQ(attention_picture({}, {}, {}), "  · 0%  ░ 5%  ▒ 25%  ▓ 50%  █ 75%  [ ] strongest\n");
}

TEST(AttentionPicture, RefusesAWrongNumberOfWeights) {
  try {
    attention_picture(std::vector<double>(5), targets, sources);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::shape);
    EXPECT_STREQ(error.what(), "attention_picture: 5 weights for 3 targets x 3 sources");
  }
}

}  // namespace
}  // namespace tape::inspect
