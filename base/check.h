#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace tape {

/// Throws Error (config) `owner: name must be at least 1, got value` for the first value below 1.
void check_at_least_one(std::string_view owner, std::initializer_list<std::pair<const char*, int64_t>> values);

/// Returns `value`, for use in member initializers. Throws as check_at_least_one does.
int64_t at_least_one(std::string_view owner, const char* name, int64_t value);

}  // namespace tape
