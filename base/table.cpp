#include "base/table.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"

namespace tape {

void TextTable::add(std::vector<std::string> cells) {
  TAPE_ASSERT(cells.size() <= columns_.size());
  if (cells.size() > 1)
    for (size_t i = 0; i < cells.size(); ++i) columns_[i].least = std::max(columns_[i].least, display_width(cells[i]));
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string room(static_cast<size_t>(std::max<int64_t>(columns_[i].least - display_width(row[i]), 0)), ' ');
      if (i > 0) line += gap_;
      line += columns_[i].align == Align::left ? row[i] + room : room + row[i];
    }
    text.append(line, 0, line.find_last_not_of(' ') + 1).append(1, '\n');
  }
  return text;
}

}  // namespace tape
