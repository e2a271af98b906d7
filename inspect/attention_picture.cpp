#include "inspect/attention_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "inspect/label_grid.h"

namespace tape::inspect {
namespace {

// Five shades; each begins at its weight. A dot keeps rows and columns in line where there is nothing.
struct Shade {
  double from;
  std::string_view block;
};
constexpr std::array<Shade, 5> shades = {{{0, "·"}, {0.05, "░"}, {0.25, "▒"}, {0.5, "▓"}, {0.75, "█"}}};

std::string_view shade(double weight) {
  std::string_view block = shades.front().block;
  for (const Shade& step : shades) {
    if (weight >= step.from) block = step.block;
  }
  return block;
}

struct Rgb {
  double red, green, blue;
};

// Viridis (Smith, van der Walt 2015) at 0, 1/4, 1/2, 3/4 and 1: lightness grows evenly, safe for the colour-blind.
constexpr std::array<Rgb, 5> viridis = {{{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}};

// Much the same in colours of xterm's cube, a tenth of the scale each. Picked by hand: the nearest colours to viridis
// do not grow lighter evenly. White text is easier to read on the first five, black text on the others.
constexpr std::array<int, 11> cube_heat = {53, 54, 24, 30, 36, 72, 77, 113, 149, 185, 227};

Rgb heat(double weight) {
  const double place = weight * 4;
  const auto low = std::min<std::size_t>(static_cast<std::size_t>(place), 3);
  const double t = place - static_cast<double>(low);
  const auto mix = [t](double a, double b) { return std::round(a + (b - a) * t); };
  const Rgb& a = viridis[low];
  const Rgb& b = viridis[low + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

// Escape sequence for a cell's background, with black or white text, whichever can be read on it.
std::string paint(double weight, Colors colors) {
  const double w = std::clamp(weight, 0.0, 1.0);
  if (colors == Colors::truecolor) {
    const Rgb c = heat(w);
    return background(c.red, c.green, c.blue);
  }
  const auto step = static_cast<std::size_t>(std::lround(w * 10));
  return background(cube_heat[step], step < 5);
}

int percent(double weight) { return static_cast<int>(std::lround(100 * std::clamp(weight, 0.0, 1.0))); }

// Weights as cells, each row with its strongest source.
class Picture {
 public:
  Picture(std::span<const double> weights, std::span<const std::string> targets, std::span<const std::string> sources,
          const AttentionPictureOptions& options)
      : weights_(weights),
        sources_(sources.size()),
        colors_(options.colors),
        grid_(targets, sources,
              {.title = options.title,
               .colors = options.colors,
               .columns = options.columns,
               .longest_label = options.longest_label}) {}

  std::string draw() const {
    return grid_.draw(
               [this](std::size_t target, std::size_t s) { return cell(row(target)[s], s == strongest(target)); },
               [this](std::size_t target) { return note(target); }) +
           legend();
  }

 private:
  std::span<const double> row(std::size_t target) const { return weights_.subspan(target * sources_, sources_); }

  // The first of the largest weights, or the number of sources when no weight is above zero.
  std::size_t strongest(std::size_t target) const {
    std::size_t best = sources_;
    for (std::size_t s = 0; s < sources_; ++s) {
      const double weight = row(target)[s];
      if (weight > (best == sources_ ? 0.0 : row(target)[best])) best = s;
    }
    return best;
  }

  std::string note(std::size_t target) const {
    const std::size_t best = strongest(target);
    if (best == sources_) return "";
    return fmt::format(" ◂ {} {}%", grid_.column(best), percent(row(target)[best]));
  }

  std::string cell(double weight, bool marked) const {
    const bool nan = std::isnan(weight);
    if (colors_ == Colors::none) {
      const std::string block(nan ? "?" : shade(weight));
      if (grid_.cell_width() == 2) return block + (marked ? "◂" : weight < shades[1].from ? " " : block);
      if (marked) return "[" + block + block + "]";
      return weight < shades[1].from || nan ? " " + block + "  " : " " + block + block + " ";
    }
    const std::string color = paint(nan ? 0 : weight, colors_);
    if (grid_.cell_width() == 2) return color + (nan ? "? " : marked ? "◂ " : "  ");
    return color + (nan ? " ?  " : marked ? fmt::format("{:>3} ", percent(weight)) : "    ");
  }

  std::string legend() const {
    std::string out = spaces(grid_.label_width() + 1) + " ";
    if (colors_ == Colors::none) {
      for (std::size_t i = 0; i < shades.size(); ++i) {
        out += fmt::format("{} {}%  ", shades[i].block, percent(shades[i].from));
      }
      out += grid_.cell_width() == 4 ? "[ ] strongest" : "◂ strongest";
    } else {
      out += "0% ";
      for (int i = 0; i <= 16; ++i) out += paint(i / 16.0, colors_) + " ";
      out.append(kResetColors).append(" 100%");
    }
    return out + "\n";
  }

  std::span<const double> weights_;
  const std::size_t sources_;
  const Colors colors_;
  const LabelGrid grid_;
};

}  // namespace

std::string attention_picture(std::span<const double> weights, std::span<const std::string> targets,
                              std::span<const std::string> sources, const AttentionPictureOptions& options) {
  if (weights.size() != targets.size() * sources.size()) {
    raise(ErrorKind::shape, "attention_picture: {} weights for {} targets x {} sources", weights.size(), targets.size(),
          sources.size());
  }
  return Picture(weights, targets, sources, options).draw();
}

}  // namespace tape::inspect
