#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Numbers formatted for people.
namespace tape {

/// An integer with thousands separators: 29,000.
std::string grouped(int64_t number);

/// A count with its unit: "1 line", "29,000 lines".
std::string counted(int64_t count, std::string_view what);

/// Parses a decimal integer with an optional minus sign. Returns nullopt for any other text.
std::optional<int64_t> parse_int(std::string_view text);

/// "12.3 MiB"
std::string format_bytes(double bytes);

}  // namespace tape
