#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <cstring>

#include "base/utf8.h"

namespace tape {
namespace {

// The table of base/ (scripts/character_widths.py) is that of one version of Unicode.
TEST(CharacterWidths, AreThoseOfUtf8proc) {
  if (std::strcmp(utf8proc_unicode_version(), "15.0.0") != 0)
    GTEST_SKIP() << "utf8proc has Unicode " << utf8proc_unicode_version();
  for (char32_t point = 0; point < 0x110000; ++point) {
    const bool surrogate = point >= 0xD800 && point <= 0xDFFF;
    const auto value = static_cast<utf8proc_int32_t>(point);
    if (surrogate || utf8proc_category(value) == UTF8PROC_CATEGORY_CC) continue;  // shown as U+FFFD
    std::string text;
    append_utf8(point, text);
    ASSERT_EQ(display_width(text), std::max(utf8proc_charwidth(value), 0)) << static_cast<uint32_t>(point);
  }
}

}  // namespace
}  // namespace tape
