#include "inspect/pictures/heat_map.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/scope.h"
#include "base/error.h"
#include "inspect/pictures/label_grid.h"
#include "inspect/pictures/palette.h"

namespace tape::inspect {
namespace {

std::vector<std::string> labels_or_numbers(const std::vector<std::string>& labels, size_t count, const char* what) {
  if (!labels.empty() && labels.size() != count)
    raise(ErrorKind::shape, "heat_map: {} labels for {} {}", labels.size(), count, what);
  std::vector<std::string> all = labels;
  for (size_t i = all.size(); i < count; ++i) all.push_back(std::to_string(i));
  return all;
}

class Map {
 public:
  Map(std::vector<double> values, const std::vector<std::string>& rows, const std::vector<std::string>& columns,
      const HeatMapOptions& options)
      : values_(std::move(values)),
        width_(columns.size()),
        colors_(options.colors),
        grid_(rows, columns,
              {.title = options.title,
               .colors = options.colors,
               .columns = options.width,
               .longest_label = options.longest_label,
               .note = 14}) {
    for (const double value : values_)
      if (std::isfinite(value)) largest_ = std::max(largest_, std::abs(value));
  }

  std::string draw() const {
    return grid_.draw([this](size_t row, size_t column) { return cell(values_[row * width_ + column]); },
                      [this](size_t row) { return note(row); }) +
           legend();
  }

 private:
  /// Value scaled to [-1, 1]; 0 for NaN.
  double place(double value) const {
    if (std::isnan(value) || value == 0) return 0;
    if (std::isinf(value)) return value > 0 ? 1 : -1;
    return value / largest_;
  }

  std::string cell(double value) const {
    const bool nan = std::isnan(value), wide = grid_.cell_width() == 4;
    const double at = place(value);
    if (colors_ != Colors::none)
      return fmt::format("{}{}", diverging_color(at, colors_), wide ? nan ? " ?  " : "    " : nan ? "? " : "  ");
    if (nan) return wide ? " ?  " : "? ";
    const size_t step = shade_of(std::abs(at));
    const std::string_view sign = step == 0 ? " " : at < 0 ? "-" : "+", block = kShades[step].block;
    if (!wide) return fmt::format("{}{}", sign, block);
    return step == 0 ? fmt::format(" {}  ", block) : fmt::format("{}{}{} ", sign, block, block);
  }

  std::string note(size_t row) const {
    size_t best = width_;
    double most = 0;
    for (size_t column = 0; column < width_; ++column)
      if (const double size = std::abs(values_[row * width_ + column]); size > most) most = size, best = column;
    if (best == width_) return "";
    return fmt::format(" ◂ {} {:.3g}", grid_.column(best), values_[row * width_ + best]);
  }

  std::string legend() const {
    std::string out = spaces(grid_.label_width() + 2);
    if (colors_ == Colors::none)
      return out + shade_legend([this](double from) { return fmt::format("{:.2g}", largest_ * from); }) +
             "- below zero, + above\n";
    const auto color = [this](double place) { return diverging_color(place, colors_); };
    return out + fmt::format("{:.3g} {} {:.3g}\n", largest_ == 0 ? 0 : -largest_, color_legend(-1, color), largest_);
  }

  const std::vector<double> values_;
  const size_t width_;
  const Colors colors_;
  const LabelGrid grid_;
  double largest_ = 0;
};

}  // namespace

std::string heat_map(const Tensor& values, const HeatMapOptions& options) {
  if (values.rank() != 1 && values.rank() != 2)
    raise(ErrorKind::shape, "heat_map: needs [R, C] or [C], got {}", to_string(values.shape()));
  const NoGrad no_grad;
  const auto columns = static_cast<size_t>(values.size(-1));
  const size_t rows = values.rank() == 2 ? static_cast<size_t>(values.size(0)) : 1;
  return Map(cast(values.detach(), f64).to_vector<double>(), labels_or_numbers(options.rows, rows, "rows"),
             labels_or_numbers(options.columns, columns, "columns"), options)
      .draw();
}

}  // namespace tape::inspect
