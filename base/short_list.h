#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tape {

/// Joins the entries of a list for a message: the first ten, each clipped() to 180 columns, then "and N more"; "none"
/// for an empty list.
std::string short_list(const std::vector<std::string>& entries, std::string_view separator = ", ");

}  // namespace tape
