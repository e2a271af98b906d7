#pragma once

#include <string>

namespace tape::tools {

/// What this program was called as, so that it can be called again from the same folder: "tapeformer" where a shell
/// found it, else its path, relative where that is shorter.
std::string command_path();

/// In single quotes, as bash, zsh and fish read them.
std::string shell_quoted(const std::string& text);

/// A word as a shell reads it back: in quotes where it holds more than letters, digits and ./_-
std::string shell_word(const std::string& word);

}  // namespace tape::tools
