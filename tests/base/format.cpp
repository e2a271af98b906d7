#include "base/format.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "base/error.h"
#include "tests/support/errors.h"

namespace tape {
namespace {

template <class... Args>
void expect_message(const std::string& message, FormatString<std::type_identity_t<Args>...> format,
                    const Args&... args) {
  EXPECT_TAPE_ERROR(raise(ErrorKind::config, format, args...), ErrorKind::config, message);
}

TEST(Format, WritesEveryKindOfArgument) {
  const std::string text = "text";
  const char* const pointer_to_text = "other";
  expect_message("true x -1 255 text other view 0.1 0.1 {}", "{} {} {} {} {} {} {} {} {} {{}}", true, 'x', int8_t{-1},
                 uint8_t{255}, text, pointer_to_text, std::string_view("view"), 0.1f, 0.1);
  expect_message("-9223372036854775808 18446744073709551615", "{} {}", INT64_MIN, UINT64_MAX);
  expect_message("0x10", "{}", reinterpret_cast<const void*>(16));
}

TEST(Format, FollowsSpecifications) {
  expect_message("0x0a 00ff 3.14 3.142e+00 'ab' '  7'", "0x{:02x} {:04x} {:.2f} {:.3e} '{:.2}' '{:3}'", 10, 255u,
                 3.14159, 3.14159, "abc", 7);
}

TEST(Format, LeavesATextWithoutArgumentsAsItIs) { expect_message("100%", "100%"); }

TEST(Format, RefusesUnknownSpecifications) {
  const FormatArgument seven[] = {7};
  EXPECT_THROW(format_text("{:?!}", seven), std::logic_error);
}

}  // namespace
}  // namespace tape
