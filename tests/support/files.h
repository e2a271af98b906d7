#pragma once

#include <string>
#include <string_view>
#include <vector>

// Plain file access for tests; use read_text() of base/file.h to read a whole file.

namespace tape {

/// Creates or overwrites a file with plain writes, as an editor would, and returns its path.
std::string write_text(const std::string& path, std::string_view text);
void append_text(const std::string& path, std::string_view text);

/// Returns the lines of a file without line feeds.
std::vector<std::string> lines_of(const std::string& path);

/// Returns the text with the first `from` replaced. Fails the test if there is none.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// Returns the sorted names in a folder.
std::vector<std::string> entries_of(const std::string& folder);

}  // namespace tape
