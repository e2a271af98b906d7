#include "base/error.h"

#include <gtest/gtest.h>

#include "base/utf8.h"

namespace tape {
namespace {

TEST(ErrorMessage, HasAtMost2000Bytes) {
  EXPECT_EQ(std::string(Error(ErrorKind::io, std::string(2000, 'a')).what()), std::string(2000, 'a'));
  const std::string cut = Error(ErrorKind::io, std::string(9'000'000, 'a')).what();
  EXPECT_EQ(cut, std::string(1960, 'a') + "... (8998040 more bytes)");
}

TEST(ErrorMessage, IsCutAtACharacterBoundary) {
  for (size_t shift = 0; shift < 4; ++shift) {
    std::string long_text(shift, 'a');
    for (int i = 0; i < 1000; ++i) long_text += "\U0001F600";
    const std::string cut = Error(ErrorKind::io, long_text).what();
    EXPECT_TRUE(valid_utf8(cut)) << shift;
    EXPECT_LE(cut.size(), Error::kMaxBytes);
    EXPECT_NE(cut.find("... ("), std::string::npos);
  }
}

TEST(ErrorMessage, IsAlsoCutIfItIsNotUtf8) {
  EXPECT_LE(std::string(Error(ErrorKind::io, std::string(5000, '\x80')).what()).size(), Error::kMaxBytes);
}

TEST(ErrorMessage, StaysWithinTheLimitWithAModulePath) {
  Error error(ErrorKind::io, std::string(2000, 'a'));
  error.set_module_path("decoder.layers.0");
  EXPECT_LE(std::string(error.what()).size(), Error::kMaxBytes);
  EXPECT_TRUE(std::string(error.what()).starts_with("decoder.layers.0: aaa"));
}

}  // namespace
}  // namespace tape
