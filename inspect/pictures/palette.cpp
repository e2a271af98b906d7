#include "inspect/pictures/palette.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tape::inspect {
namespace {

struct Rgb {
  double red, green, blue;
};

// At 0, 1/4, 1/2, 3/4 and 1.
constexpr std::array<Rgb, 5> kViridis{{{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};
// Approximation of viridis with colors of xterm's color cube, one per tenth of the scale. Chosen by hand: the nearest
// colors do not grow lighter evenly. White text is easier to read on the first five, black text on the others.
constexpr std::array<int, 11> kCubeViridis{53, 54, 24, 30, 36, 72, 77, 113, 149, 185, 227};

// At -1, 0 and 1.
constexpr std::array<Rgb, 3> kOrangeBlue{{{179, 88, 6}, {247, 247, 247}, {33, 102, 172}}};
// One color per fifth of each side. White text on the darkest at both ends.
constexpr std::array<int, 11> kCubeOrangeBlue{130, 172, 173, 216, 223, 255, 153, 110, 74, 32, 25};

/// Interpolates evenly spaced colors at a position in [0, 1].
template <size_t N>
Rgb between(const std::array<Rgb, N>& colors, double place) {
  const double at = place * (N - 1);
  const auto low = std::min(static_cast<size_t>(at), N - 2);
  const double t = at - static_cast<double>(low);
  const auto mix = [t](double a, double b) { return std::round(a + (b - a) * t); };
  const Rgb &a = colors[low], &b = colors[low + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

std::string background(const Rgb& c) {
  const bool dark = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue < 128;
  return fmt::format("\x1b[{};48;2;{:.0f};{:.0f};{:.0f}m", dark ? 97 : 30, c.red, c.green, c.blue);
}

std::string background(int cube_color, bool white_text) {
  return fmt::format("\x1b[{};48;5;{}m", white_text ? 97 : 30, cube_color);
}

}  // namespace

size_t shade_of(double size) {
  const auto reached = [size](const Shade& shade) { return size >= shade.from; };
  return static_cast<size_t>(std::count_if(kShades.begin() + 1, kShades.end(), reached));
}

std::string sequential_color(double place, Colors colors) {
  const double at = std::clamp(place, 0.0, 1.0);
  if (colors == Colors::truecolor) return background(between(kViridis, at));
  const auto step = static_cast<size_t>(std::lround(at * 10));
  return background(kCubeViridis[step], step < 5);
}

std::string diverging_color(double place, Colors colors) {
  if (colors == Colors::truecolor) return background(between(kOrangeBlue, (place + 1) / 2));
  const auto step = static_cast<size_t>(std::lround((place + 1) * 5));
  return background(kCubeOrangeBlue[step], step < 1 || step > 8);
}

std::string shade_legend(const std::function<std::string(double from)>& text) {
  std::string out;
  for (const Shade& shade : kShades) out += fmt::format("{} {}  ", shade.block, text(shade.from));
  return out;
}

std::string color_legend(double low, const std::function<std::string(double place)>& color) {
  std::string out;
  for (int i = 0; i <= 16; ++i) out += color(low + (1 - low) * (i / 16.0)) + " ";
  return out.append(kResetColors);
}

}  // namespace tape::inspect
