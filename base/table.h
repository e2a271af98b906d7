#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tape {

/// Text in columns, for a terminal. Columns are as wide as their widest cell, by display_width(); no line ends in
/// spaces.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    Align align = Align::left;
    int64_t least = 0;  ///< columns of the terminal that it takes at least
  };

  /// `gap` stands between two columns.
  explicit TextTable(std::vector<Column> columns, std::string_view gap = "  ")
      : columns_(std::move(columns)), gap_(gap) {}

  /// A row of at most as many cells as there are columns. One cell alone is a line of its own and widens no column.
  void add(std::vector<std::string> cells);
  /// The lines, each with its line feed.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::string gap_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace tape
