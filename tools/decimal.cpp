#include "tools/decimal.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

namespace tape::tools {
namespace {

/// Parses all of a text as a decimal number.
template <class T>
std::errc parse(const std::string& text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  return failed == std::errc() && rest != end ? std::errc::invalid_argument : failed;
}

template <class T>
std::string check_integer(std::string& value) {
  const size_t sign = value.starts_with('-') ? 1 : 0;
  const bool digits = value.size() > sign && value.find_first_not_of("0123456789", sign) == value.npos;
  if (!digits) return fmt::format("must be an integer, got {}", value);
  T number = 0;
  if (sign == 1 && std::is_unsigned_v<T>) return {};  // refused by at_least()
  if (parse(value, number) != std::errc()) {
    using Limits = std::numeric_limits<T>;
    if (sign == 1) return fmt::format("must be at least {}, got {}", Limits::min(), value);
    return fmt::format("must be at most {}, got {}", Limits::max(), value);
  }
  value = fmt::format("{}", number);
  return {};
}

std::string check_double(const std::string& value) {
  double number = 0;
  if (parse(value, number) == std::errc() && std::isfinite(number)) return {};
  return fmt::format("must be a decimal number that f64 can hold, got {}", value);
}

}  // namespace

template <class T>
std::string check_decimal(std::string& value) {
  if constexpr (std::is_integral_v<T>)
    return check_integer<T>(value);
  else
    return check_double(value);
}
template std::string check_decimal<int>(std::string&);
template std::string check_decimal<int64_t>(std::string&);
template std::string check_decimal<uint64_t>(std::string&);
template std::string check_decimal<double>(std::string&);

}  // namespace tape::tools
