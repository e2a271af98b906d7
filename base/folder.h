#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace tape {

// std::filesystem's directory_iterator and remove_all() end the program where memory runs out (they allocate in a
// function that is noexcept); these throw std::bad_alloc.

/// The names of what lies in a folder, sorted, without "." and "..". Empty, with the reason in `failed`, where it
/// cannot be read.
std::vector<std::string> folder_names(const std::string& path, std::error_code& failed);

/// Removes a file, a link (not what it leads to) or a folder with all that lies in it. Nothing happens where there is
/// none; the first reason why something stays is in `failed`.
void remove_all(const std::string& path, std::error_code& failed);

}  // namespace tape
