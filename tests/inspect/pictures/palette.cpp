#include "inspect/pictures/palette.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

#include <cmath>

namespace tape::inspect {
namespace {

TEST(Palette, StartsEachShadeAtItsMagnitude) {
  EXPECT_EQ(shade_of(0), 0u);
  EXPECT_EQ(shade_of(0.049), 0u);
  EXPECT_EQ(shade_of(0.05), 1u);
  EXPECT_EQ(shade_of(0.74), 3u);
  EXPECT_EQ(shade_of(1), 4u);
  EXPECT_EQ(shade_of(NAN), 0u);
  EXPECT_EQ(shade_legend([](double from) { return fmt::format("{}", from); }), "· 0  ░ 0.05  ▒ 0.25  ▓ 0.5  █ 0.75  ");
}

TEST(Palette, HasReadableTextAtBothEnds) {
  EXPECT_EQ(sequential_color(0, Colors::truecolor), "\x1b[97;48;2;68;1;84m");
  EXPECT_EQ(sequential_color(1.5, Colors::truecolor), "\x1b[30;48;2;253;231;37m") << "clamped to the scale";
  EXPECT_EQ(sequential_color(0.5, Colors::ansi256), "\x1b[30;48;5;72m");
  EXPECT_EQ(diverging_color(0, Colors::truecolor), "\x1b[30;48;2;247;247;247m");
  EXPECT_EQ(diverging_color(-1, Colors::truecolor), "\x1b[97;48;2;179;88;6m");
  EXPECT_EQ(diverging_color(1, Colors::ansi256), "\x1b[97;48;5;25m");
}

TEST(Palette, HasALegendFromOneEndToTheOther) {
  std::vector<double> places;
  const std::string cells = color_legend(-1, [&](double place) {
    places.push_back(place);
    return "x";
  });
  EXPECT_EQ(places.size(), 17u);
  EXPECT_EQ(places.front(), -1);
  EXPECT_EQ(places[8], 0);
  EXPECT_EQ(places.back(), 1);
  EXPECT_TRUE(cells.ends_with("x x \x1b[0m")) << cells;
}

}  // namespace
}  // namespace tape::inspect
