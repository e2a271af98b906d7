// Tests of tools/clean_output.h. They are here because this program is compiled with sources of the command-line tool.
#include "tools/terminal/clean_output.h"

#include <sstream>

#include <gtest/gtest.h>

namespace tape::tools {
namespace {

TEST(CleanOutput, HasNoControlCharactersExceptLineFeedsAndTabs) {
  EXPECT_EQ(clean_text("a\tb\nc é 日"), "a\tb\nc é 日");
  EXPECT_EQ(clean_text("\x1b]0;owned\a\r\x7f\u009B31m"), "\uFFFD]0;owned\uFFFD\uFFFD\uFFFD\uFFFD31m");
  EXPECT_EQ(clean_text("\x9B\xC3"), "\uFFFD\uFFFD");
}

TEST(CleanOutput, PreservesCharactersSplitAcrossWrites) {
  std::stringbuf to;
  CleanBuffer buffer(to, false);
  std::ostream out(&buffer);
  for (const char byte : std::string("é日\U0001F600\u009Bx")) out << byte;
  EXPECT_EQ(to.str(), "é日\U0001F600\uFFFDx");
  out << "\xE6"
      << "a" << std::flush;
  EXPECT_EQ(to.str(), "é日\U0001F600\uFFFDx\uFFFDa");
}

TEST(CleanOutput, PassesTheCommandsOwnSequencesOnlyOnATerminal) {
  for (const bool terminal : {false, true}) {
    std::stringbuf to;
    CleanBuffer buffer(to, terminal);
    std::ostream out(&buffer);
    out << '\r' << "\x1b[36ma\x1b[0m"
        << "\x1b[K"
        << "\x1b[97;48;2;1;2;3mb\x1b[0m";
    EXPECT_EQ(to.str(), terminal ? "\r\x1b[36ma\x1b[0m\x1b[K\x1b[97;48;2;1;2;3mb\x1b[0m"
                                 : "\uFFFD\uFFFD[36ma\uFFFD[0m\uFFFD[K\uFFFD[97;48;2;1;2;3mb\uFFFD[0m");
    to.str("");
    out << "name\r\x1b[K\x1b[8mhidden";  // inside a text, sequences are not the command's own
    EXPECT_EQ(to.str(), "name\uFFFD\uFFFD[K\uFFFD[8mhidden");
  }
}

}  // namespace
}  // namespace tape::tools
