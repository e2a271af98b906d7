#pragma once

#include <string>

namespace tape::tools {

/// How the program was called, for command_path(): the first of its arguments.
void set_command_path(std::string path);

/// Command that runs this program again from the same folder: "tapeformer" if the shell found it on PATH, else its
/// path, relative if that is shorter.
std::string command_path();

/// The text in single quotes, escaped for bash, zsh and fish.
std::string shell_quoted(const std::string& text);

/// The text as one shell word: quoted if it contains anything other than letters, digits and ./_-
std::string shell_word(const std::string& word);

}  // namespace tape::tools
