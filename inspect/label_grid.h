#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../base/terminal.h"

namespace tape::inspect {

/// How a grid of cells is laid out for a terminal.
struct LabelGridOptions {
  std::string title = {};        ///< a line above; none when empty
  Colors colors = Colors::none;  ///< whether colours must be ended behind a row
  int64_t columns = 0;           ///< width to keep within (0: any); wide grids become several
  int64_t longest_label = 16;    ///< longer labels are cut
  int64_t note = 8;              ///< columns that a row's note takes beside a column's label
};

/// Cells with labels: those of columns stand one above the other, each with a line down to its column, those of rows at
/// the left; a note may stand behind each row.
class LabelGrid {
 public:
  LabelGrid(std::span<const std::string> rows, std::span<const std::string> columns, const LabelGridOptions& options);

  /// A column's label as it is shown.
  const std::string& column(size_t i) const { return columns_[i]; }
  int64_t label_width() const { return label_width_; }
  /// Terminal columns of a cell: 4, or 2 where the grid would be too wide.
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
