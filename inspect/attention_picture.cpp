#include "inspect/attention_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "autograd/error.h"
#include "text/utf8.h"

namespace tape::inspect {
namespace {

using train::Colors;

constexpr std::string_view reset = "\x1b[0m";

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
    const bool dark = 0.299 * c.red + 0.587 * c.green + 0.114 * c.blue < 128;
    return fmt::format("\x1b[{};48;2;{:.0f};{:.0f};{:.0f}m", dark ? 97 : 30, c.red, c.green, c.blue);
  }
  const auto step = static_cast<std::size_t>(std::lround(w * 10));
  return fmt::format("\x1b[{};48;5;{}m", step < 5 ? 97 : 30, cube_heat[step]);
}

std::string spaces(int64_t count) { return std::string(static_cast<std::size_t>(std::max<int64_t>(count, 0)), ' '); }

int percent(double weight) { return static_cast<int>(std::lround(100 * std::clamp(weight, 0.0, 1.0))); }

// A part of a picture: all rows and the sources first <= s < last.
class Picture {
 public:
  Picture(std::span<const double> weights, std::span<const std::string> targets, std::span<const std::string> sources,
          const AttentionPictureOptions& options)
      : weights_(weights), options_(options) {
    for (const auto& label : targets) targets_.push_back(text::clipped(label, options.longest_label));
    for (const auto& label : sources) sources_.push_back(text::clipped(label, options.longest_label));
    for (const auto& label : targets_) label_width_ = std::max(label_width_, text::display_width(label));
    for (const auto& label : sources_) source_width_ = std::max(source_width_, text::display_width(label));
  }

  std::string draw() {
    std::string out;
    if (!options_.title.empty()) out += text::clipped(options_.title, width_or(INT64_MAX)) + "\n";
    // At the right of the cells: " ◂ strongest 100%"; the last label at the top reaches to the right as well.
    const int64_t side = label_width_ + 1 + 3 + source_width_ + 5;
    const int64_t room = width_or(INT64_MAX) - side;
    const auto count = static_cast<int64_t>(sources_.size());
    cell_ = count * 4 <= room ? 4 : 2;
    const int64_t fitting = std::max<int64_t>(room / cell_, 1);
    for (int64_t first = 0; first < std::max<int64_t>(count, 1); first += fitting) {
      if (first > 0) out += '\n';
      draw_part(out, static_cast<std::size_t>(first), static_cast<std::size_t>(std::min(first + fitting, count)));
    }
    return out + legend();
  }

 private:
  int64_t width_or(int64_t any) const { return options_.columns > 0 ? options_.columns : any; }

  std::span<const double> row(std::size_t target) const {
    return weights_.subspan(target * sources_.size(), sources_.size());
  }

  // The first of the largest weights, or sources_.size() when no weight is above zero.
  std::size_t strongest(std::size_t target) const {
    std::size_t best = sources_.size();
    for (std::size_t s = 0; s < sources_.size(); ++s) {
      const double weight = row(target)[s];
      if (weight > (best == sources_.size() ? 0.0 : row(target)[best])) best = s;
    }
    return best;
  }

  void draw_part(std::string& out, std::size_t first, std::size_t last) const {
    for (std::size_t label = first; label < last; ++label) {
      out += spaces(label_width_ + 1);
      for (std::size_t s = first; s < label; ++s) out += (cell_ == 4 ? " │  " : "│ ");
      out.append(cell_ == 4 ? " " : "").append(sources_[label]) += '\n';
    }
    for (std::size_t target = 0; target < targets_.size(); ++target) {
      out += spaces(label_width_ - text::display_width(targets_[target])) + targets_[target] + " ";
      const std::size_t best = strongest(target);
      for (std::size_t s = first; s < last; ++s) out += cell(row(target)[s], s == best);
      if (options_.colors != Colors::none && last > first) out += reset;
      if (best < sources_.size()) {
        out += fmt::format(" ◂ {} {}%", sources_[best], percent(row(target)[best]));
      }
      out += '\n';
    }
  }

  std::string cell(double weight, bool marked) const {
    const bool nan = std::isnan(weight);
    if (options_.colors == Colors::none) {
      const std::string block(nan ? "?" : shade(weight));
      if (cell_ == 2) return block + (marked ? "◂" : weight < shades[1].from ? " " : block);
      if (marked) return "[" + block + block + "]";
      return weight < shades[1].from || nan ? " " + block + "  " : " " + block + block + " ";
    }
    const std::string color = paint(nan ? 0 : weight, options_.colors);
    if (cell_ == 2) return color + (nan ? "? " : marked ? "◂ " : "  ");
    return color + (nan ? " ?  " : marked ? fmt::format("{:>3} ", percent(weight)) : "    ");
  }

  std::string legend() const {
    std::string out = spaces(label_width_ + 1) + " ";
    if (options_.colors == Colors::none) {
      for (std::size_t i = 0; i < shades.size(); ++i) {
        out += fmt::format("{} {}%  ", shades[i].block, percent(shades[i].from));
      }
      out += cell_ == 4 ? "[ ] strongest" : "◂ strongest";
    } else {
      out += "0% ";
      for (int i = 0; i <= 16; ++i) out += paint(i / 16.0, options_.colors) + " ";
      out.append(reset).append(" 100%");
    }
    return out + "\n";
  }

  std::span<const double> weights_;
  const AttentionPictureOptions& options_;
  std::vector<std::string> targets_;
  std::vector<std::string> sources_;
  int64_t label_width_ = 0;
  int64_t source_width_ = 0;
  int64_t cell_ = 4;  // columns of a cell
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
