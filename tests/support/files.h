#pragma once

#include <string>
#include <string_view>
#include <vector>

// Files as a test sees them from outside; whole files are read with read_text() of base/file.h.

namespace tape {

/// Makes or replaces a file, as plainly as an editor would; returns its path.
std::string write_text(const std::string& path, std::string_view text);
void append_text(const std::string& path, std::string_view text);

/// The lines of a file, without their line feeds.
std::vector<std::string> lines_of(const std::string& path);

/// A text with the first `from` replaced; a failed expectation where there is none.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// The names in a folder, in order.
std::vector<std::string> entries_of(const std::string& folder);

}  // namespace tape
