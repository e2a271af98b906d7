#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// Numbers as people read them.
namespace tape {

/// A whole number with a comma between thousands: 29,000.
std::string grouped(int64_t number);

/// A count and what was counted: "1 line", "29,000 lines".
std::string counted(int64_t count, std::string_view what);

/// What a text says in digits, with a minus where it is below 0; nothing where it says anything else.
std::optional<int64_t> whole_number(std::string_view text);

/// "12.3 MiB"
std::string bytes_text(double bytes);

}  // namespace tape
