#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "../base/terminal.h"

// How pictures in a terminal show sizes: by shaded blocks, or by the background of cells.
namespace tape::inspect {

/// A block for sizes in [0, 1], which begins at its size.
struct Shade {
  double from;
  std::string_view block;
};
/// A dot keeps rows and columns in line where there is nothing.
inline constexpr std::array<Shade, 5> kShades{{{0, "·"}, {0.05, "░"}, {0.25, "▒"}, {0.5, "▓"}, {0.75, "█"}}};
/// The place in kShades of a size; 0 for NaN.
size_t shade_of(double size);

/// The escape sequence for a cell's background and for black or white text on it, whichever can be read. For a place in
/// [0, 1], dark to bright: viridis (Smith, van der Walt 2015), whose lightness grows evenly, safe for the colour-blind.
std::string sequential_color(double place, Colors colors);
/// For a place in [-1, 1]: orange, white, blue, as in the pages, safe for the colour-blind.
std::string diverging_color(double place, Colors colors);
inline constexpr std::string_view kResetColors = "\x1b[0m";

/// "· 0%  ░ 5%  ...": each shade behind it what it begins at, as `text` says it.
std::string shade_legend(const std::function<std::string(double from)>& text);
/// 17 cells over the places from `low` to 1.
std::string color_legend(double low, const std::function<std::string(double place)>& color);

}  // namespace tape::inspect
