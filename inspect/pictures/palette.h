#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>

#include "../../base/terminal.h"

// Terminal rendering of magnitudes: shaded block characters or cell backgrounds.
namespace tape::inspect {

/// A block character for magnitudes in [0, 1] from `from` upwards.
struct Shade {
  double from;
  std::string_view block;
};
/// The dot keeps rows and columns visibly aligned where there is nothing.
inline constexpr std::array<Shade, 5> kShades{{{0, "·"}, {0.05, "░"}, {0.25, "▒"}, {0.5, "▓"}, {0.75, "█"}}};
/// Index in kShades of a magnitude; 0 for NaN.
size_t shade_of(double size);

/// Returns the escape sequence for a cell's background and for black or white text on it, whichever is readable. Maps
/// [0, 1], dark to bright, to viridis (Smith, van der Walt 2015): even lightness, safe for the color-blind.
std::string sequential_color(double place, Colors colors);
/// Maps [-1, 1] to orange, white and blue, as the pages do; safe for the color-blind.
std::string diverging_color(double place, Colors colors);
inline constexpr std::string_view kResetColors = "\x1b[0m";

/// Returns "· 0%  ░ 5%  ...": each shade followed by the magnitude it begins at, formatted by `text`.
std::string shade_legend(const std::function<std::string(double from)>& text);
/// 17 cells over the range from `low` to 1.
std::string color_legend(double low, const std::function<std::string(double place)>& color);

}  // namespace tape::inspect
