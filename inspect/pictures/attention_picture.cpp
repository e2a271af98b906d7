#include "inspect/pictures/attention_picture.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "inspect/pictures/label_grid.h"
#include "inspect/pictures/palette.h"

namespace tape::inspect {
namespace {

int percent(double weight) { return static_cast<int>(std::lround(100 * std::clamp(weight, 0.0, 1.0))); }

// Weights as cells; each row ends with its strongest source.
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

  // Index of the first of the largest weights, or the number of sources if no weight is above zero.
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
      const std::string block(nan ? "?" : kShades[shade_of(weight)].block);
      if (grid_.cell_width() == 2) return block + (marked ? "◂" : weight < kShades[1].from ? " " : block);
      if (marked) return "[" + block + block + "]";
      return weight < kShades[1].from || nan ? " " + block + "  " : " " + block + block + " ";
    }
    const std::string color = sequential_color(nan ? 0 : weight, colors_);
    if (grid_.cell_width() == 2) return color + (nan ? "? " : marked ? "◂ " : "  ");
    return color + (nan ? " ?  " : marked ? fmt::format("{:>3} ", percent(weight)) : "    ");
  }

  std::string legend() const {
    std::string out = spaces(grid_.label_width() + 1) + " ";
    if (colors_ == Colors::none) {
      out += shade_legend([](double from) { return fmt::format("{}%", percent(from)); });
      out += grid_.cell_width() == 4 ? "[ ] strongest" : "◂ strongest";
    } else {
      const auto color = [this](double place) { return sequential_color(place, colors_); };
      out += fmt::format("0% {} 100%", color_legend(0, color));
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
