#pragma once

#include <string>
#include <vector>

namespace tape::tools {

/// Words that can follow the words of a command.
struct Completions {
  struct Option {
    std::string name;                 ///< "--level"
    std::string help;                 ///< one line
    std::vector<std::string> values;  ///< accepted values if they are a fixed set of words
    bool takes_value = false;
  };
  std::string path;  ///< "train lm"; "" for the program itself
  std::string help;
  std::vector<std::string> commands;  ///< "lm", "classifier", ...
  std::vector<Option> options;
};

/// Returns a script that completes commands, options and their values in a shell: "bash", "zsh" or "fish". Everything
/// else is completed as a file name.
std::string completion_script(const std::string& shell, const std::string& program,
                              const std::vector<Completions>& commands);

}  // namespace tape::tools
