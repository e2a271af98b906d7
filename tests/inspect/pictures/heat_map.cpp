#include "inspect/pictures/heat_map.h"

#include <cmath>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "base/utf8.h"
#include "tests/support/errors.h"

namespace tape::inspect {
namespace {

using testing::HasSubstr;

TEST(HeatMap, ShowsSignsAndShadesWithoutColors) {
  EXPECT_EQ(heat_map(tensor({{0.02, -0.9, 2.0}, {-1.2, 0.0, 0.3}}, f64),
                     {.rows = {"thirty", "-"}, .columns = {"drei", "und", "dreißig"}, .title = "gradients"}),
            "gradients\n"
            "        drei\n"
            "        │   und\n"
            "        │   │   dreißig\n"
            "thirty  ·  -▒▒ +██  ◂ dreißig 2\n"
            "     - -▓▓  ·  +░░  ◂ drei -1.2\n"
            "        · 0  ░ 0.1  ▒ 0.5  ▓ 1  █ 1.5  - below zero, + above\n");
}

TEST(HeatMap, ShowsZeroInTheSameColorForAnyRange) {
  const std::string white = "\x1b[30;48;5;255m    ", orange = "\x1b[97;48;5;130m    ", blue = "\x1b[97;48;5;25m    ";
  const std::string map = heat_map(tensor({-3, 0, 3}), {.colors = Colors::ansi256});
  EXPECT_THAT(map, HasSubstr("0 " + orange + white + blue + "\x1b[0m ◂ 0 -3\n"));
  EXPECT_THAT(map, HasSubstr("-3 \x1b[97;48;5;130m "));
  EXPECT_THAT(heat_map(tensor({0, 5}), {.colors = Colors::ansi256}), HasSubstr("0 " + white + blue));
  EXPECT_THAT(heat_map(tensor({0, 0}), {.colors = Colors::ansi256}), HasSubstr("0 " + white + white + "\x1b[0m\n"));
  EXPECT_THAT(heat_map(tensor({-1, 1}), {.colors = Colors::truecolor}),
              HasSubstr("\x1b[97;48;2;179;88;6m    \x1b[97;48;2;33;102;172m    \x1b[0m"));
}

TEST(HeatMap, ShowsUnusualValues) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::string map = heat_map(tensor({{NAN, inf, -inf, 1.0, -1.0}}, f64));
  EXPECT_THAT(map, HasSubstr("0  ?  +██ -██ +██ -██  ◂ 1 inf\n"));
  EXPECT_THAT(map, HasSubstr("█ 0.75")) << "finite values set the scale";
  EXPECT_THAT(heat_map(zeros({2, 0})), HasSubstr("0 \n1 \n"));
}

TEST(HeatMap, FitsTheTerminal) {
  const Tensor wide = ones({3, 50});
  std::istringstream lines(heat_map(wide, {.title = std::string(100, 'x'), .width = 60}));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(display_width(line), 60) << line;
  EXPECT_EQ(count, 1 + 50 + 3 * 3 + 2 + 1) << "title, labels, rows of three parts with blank lines between, legend";
}

TEST(HeatMap, RefusesOtherRanksAndLabelCounts) {
  EXPECT_TAPE_ERROR(heat_map(ones({2, 2, 2})), ErrorKind::shape, "heat_map: needs [R, C] or [C], got [2, 2, 2]");
  EXPECT_TAPE_ERROR(heat_map(scalar(1)), ErrorKind::shape, "heat_map: needs [R, C] or [C], got []");
  EXPECT_TAPE_ERROR(heat_map(ones({2, 3}), {.rows = {"a"}}), ErrorKind::shape, "heat_map: 1 labels for 2 rows");
  EXPECT_TAPE_ERROR(heat_map(ones({2, 3}), {.columns = {"a"}}), ErrorKind::shape, "heat_map: 1 labels for 3 columns");
}

}  // namespace
}  // namespace tape::inspect
