#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape {

/// Text in columns for a terminal. Each column is as wide as its widest cell, measured by display_width(); trailing
/// spaces are removed.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    Align align = Align::left;
    int64_t least = 0;  ///< minimum width in terminal columns
  };

  /// `gap` separates columns.
  explicit TextTable(std::vector<Column> columns, std::string_view gap = "  ")
      : columns_(std::move(columns)), gap_(gap) {}

  /// Adds a row with at most one cell per column. A single cell is printed as a plain line and does not affect widths.
  void add(std::vector<std::string> cells);
  /// The formatted lines, each ending with a newline.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::string gap_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tape
