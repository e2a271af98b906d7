#include "inspect/pictures/label_grid.h"

#include <algorithm>

#include "base/utf8.h"
#include "inspect/pictures/palette.h"

namespace tape::inspect {

std::string spaces(int64_t count) { return std::string(static_cast<size_t>(std::max<int64_t>(count, 0)), ' '); }

LabelGrid::LabelGrid(std::span<const std::string> rows, std::span<const std::string> columns,
                     const LabelGridOptions& options)
    : options_(options) {
  for (const auto& label : rows) rows_.push_back(clipped(label, options.longest_label));
  for (const auto& label : columns) columns_.push_back(clipped(label, options.longest_label));
  int64_t column_width = 0;
  for (const auto& label : rows_) label_width_ = std::max(label_width_, display_width(label));
  for (const auto& label : columns_) column_width = std::max(column_width, display_width(label));
  // The label of the last column extends to the right, as notes do.
  const int64_t side = label_width_ + 1 + column_width + options.note;
  const int64_t room = width_or(INT64_MAX) - side;
  cell_ = std::ssize(columns_) * 4 <= room ? 4 : 2;
  fitting_ = std::max<int64_t>(room / cell_, 1);
}

std::string LabelGrid::draw(const Cell& cell, const Note& note) const {
  std::string out;
  if (!options_.title.empty()) out += clipped(options_.title, width_or(INT64_MAX)) + "\n";
  const int64_t count = std::ssize(columns_);
  for (int64_t first = 0; first < std::max<int64_t>(count, 1); first += fitting_) {
    if (first > 0) out += '\n';
    draw_part(out, static_cast<size_t>(first), static_cast<size_t>(std::min(first + fitting_, count)), cell, note);
  }
  return out;
}

void LabelGrid::draw_part(std::string& out, size_t first, size_t last, const Cell& cell, const Note& note) const {
  for (size_t label = first; label < last; ++label) {
    out += spaces(label_width_ + 1);
    for (size_t column = first; column < label; ++column) out += cell_ == 4 ? " │  " : "│ ";
    out.append(cell_ == 4 ? " " : "").append(columns_[label]) += '\n';
  }
  for (size_t row = 0; row < rows_.size(); ++row) {
    out += spaces(label_width_ - display_width(rows_[row])) + rows_[row] + " ";
    for (size_t column = first; column < last; ++column) out += cell(row, column);
    if (options_.colors != Colors::none && last > first) out += kResetColors;
    out += note(row);
    out += '\n';
  }
}

}  // namespace tape::inspect
