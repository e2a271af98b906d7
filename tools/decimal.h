#pragma once

#include <string>

namespace tape::tools {

/// What is wrong with a value of an option of type T, int, int64_t, uint64_t or double: "must be an integer, got 0x10";
/// "" if nothing is. Decimal numbers only, while CLI11 also reads 0x10 as 16 and 010 as 8, and clamps what is too
/// large: leading zeros of an integer are removed from `value`. A negative uint64_t is left to Option::at_least().
template <class T>
std::string check_decimal(std::string& value);

}  // namespace tape::tools
