#include "base/table.h"

#include <gtest/gtest.h>

namespace tape {
namespace {

using enum TextTable::Align;

TEST(TextTable, AlignsColumnsWithoutTrailingSpaces) {
  TextTable table({{left}, {right}, {left}});
  table.add({"name", "count", "note"});
  table.add({"a", "1,000", ""});
  table.add({"longer", "2", "x"});
  EXPECT_EQ(table.text(),
            "name    count  note\n"
            "a       1,000\n"
            "longer      2  x\n");
}

TEST(TextTable, MeasuresCellsAsATerminalShowsThem) {
  TextTable table({{left}, {left}});
  table.add({"数字", "a"});
  table.add({"ß", "b"});
  EXPECT_EQ(table.text(), "数字  a\nß     b\n");
}

TEST(TextTable, DoesNotWidenAColumnForASingleCell) {
  TextTable table({{left}, {right}});
  table.add({"a line that is longer than any cell"});
  table.add({"a", "1"});
  EXPECT_EQ(table.text(), "a line that is longer than any cell\na  1\n");
}

TEST(TextTable, AppliesMinimumWidthsAndTheGap) {
  TextTable table({{left, 4}, {right, 3}}, "|");
  table.add({"a", "1"});
  table.add({"wider", "1234"});
  EXPECT_EQ(table.text(), "a    |   1\nwider|1234\n");
  EXPECT_EQ(TextTable({{left}}).text(), "");
}

}  // namespace
}  // namespace tape
