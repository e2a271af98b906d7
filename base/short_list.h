#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tape {

/// The entries of a list for a message, joined by `separator`: the first ten, each cut to 180 columns and cleaned
/// (clipped()), then "and N more"; "none" for an empty list.
std::string short_list(const std::vector<std::string>& entries, std::string_view separator = ", ");

}  // namespace tape
