#pragma once

#include <string>
#include <vector>

namespace tape::tools {

/// What can be typed behind the words of a command.
struct Completions {
  struct Option {
    std::string name;                 ///< "--level"
    std::string help;                 ///< one line
    std::vector<std::string> values;  ///< that it takes, where they are a few words
    bool takes_value = false;
  };
  std::string path;  ///< "train lm"; "" for the program itself
  std::string help;
  std::vector<std::string> commands;  ///< "lm", "classifier", ...
  std::vector<Option> options;
};

/// A script that completes commands, options and their values in a shell: "bash", "zsh" or "fish". All else is
/// completed as files.
std::string completion_script(const std::string& shell, const std::string& program,
                              const std::vector<Completions>& commands);

}  // namespace tape::tools
