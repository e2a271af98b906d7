#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../../base/terminal.h"

namespace tape::inspect {

/// Options of LabelGrid.
struct LabelGridOptions {
  std::string title = {};        ///< printed above the grid; omitted if empty
  Colors colors = Colors::none;  ///< whether colors must be reset after each row
  int64_t columns = 0;           ///< maximum width (0: unlimited); wider grids are split
  int64_t longest_label = 16;    ///< longer labels are truncated
  int64_t note = 8;              ///< columns of a row's note in addition to a column's label
};

/// A grid of labeled cells for a terminal: column labels are stacked above it, each with a line down to its column, row
/// labels are at the left, and each row may end with a note.
class LabelGrid {
 public:
  LabelGrid(std::span<const std::string> rows, std::span<const std::string> columns, const LabelGridOptions& options);

  /// The label of a column as printed.
  const std::string& column(size_t i) const { return columns_[i]; }
  int64_t label_width() const { return label_width_; }
  /// Terminal columns per cell: 4, or 2 if the grid would be too wide.
  int64_t cell_width() const { return cell_; }

  using Cell = std::function<std::string(size_t row, size_t column)>;
  using Note = std::function<std::string(size_t row)>;
  std::string draw(const Cell& cell, const Note& note) const;

 private:
  int64_t width_or(int64_t any) const { return options_.columns > 0 ? options_.columns : any; }
  void draw_part(std::string& out, size_t first, size_t last, const Cell& cell, const Note& note) const;

  LabelGridOptions options_;
  std::vector<std::string> rows_, columns_;
  int64_t label_width_ = 0, cell_ = 4, fitting_ = 1;
};

std::string spaces(int64_t count);

}  // namespace tape::inspect
