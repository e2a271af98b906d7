#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {  // whose headers cost 15 seconds of compilation: arguments.cpp alone reads them
class App;
class Option;
}  // namespace CLI

namespace tape::tools {

/// One option of a command. A value that a rule refuses ends the program with exit code 2 and one line that names the
/// option, the rule and the value.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option& required();
  Option& one_of(const std::vector<std::string>& values);
  Option& at_least(double least);
  Option& above(double bound);
  Option& within(double least, double most);
  Option& probability();  ///< at least 0 and below 1
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  /// What --help shows as the default, where it depends on something: "0.1", "of the preset".
  Option& default_text(const std::string& text);
  /// What stands for the value in --help. "FILE" and "DIR" are paths: see Command::keeps_options().
  Option& value_name(const std::string& name);

 private:
  CLI::Option* option_;
};

/// What the commands of a program leave for it to do once the arguments are read.
struct CommandState {
  std::function<int()> chosen = {};
  std::vector<const CLI::App*> keeping = {};  ///< commands that keep their options
};

/// A command of the program, with its options.
class Command {
 public:
  using Run = std::function<int()>;
  Command(CLI::App* app, std::shared_ptr<CommandState> state) : app_(app), state_(std::move(state)) {}

  Command subcommand(const std::string& name, const std::string& description);
  /// The last lines of --help, with a call that works: "Example: ...".
  Command& footer(const std::string& text);
  /// What the command does once its arguments are read; gives the exit code. A command without is a group of others.
  Command& runs(Run run);
  /// For a command with --out and --resume that keeps its options in the folder of its run: with --resume, options that
  /// are not given are those of the run (kept_arguments.h). Gives what is to be kept, as JSON, once the arguments are
  /// read; paths are absolute there.
  std::function<std::string()> keeps_options();

  /// `--name VALUE` into `target`, which holds the default that --help shows; an optional has none. T: std::string,
  /// int, int64_t, uint64_t, double, an optional of these, or a vector of strings.
  template <class T>
  Option option(const std::string& name, T& target, const std::string& help);
  /// `--name` sets `target`.
  Option flag(const std::string& name, bool& target, const std::string& help);
  /// An option whose words stand for values: `--norm pre`.
  template <class T>
  Option choice(const std::string& name, T& target,
                const std::vector<std::pair<std::string, typename T::value_type>>& words, const std::string& help) {
    std::vector<std::string> names;
    names.reserve(words.size());
    for (const auto& word : words) names.push_back(word.first);
    return read(
               name,
               [&target, words](const std::string& given) {
                 for (const auto& word : words)
                   if (word.first == given) target = word.second;
               },
               help)
        .one_of(names);
  }

 private:
  Option read(const std::string& name, const std::function<void(const std::string&)>& take, const std::string& help);

  CLI::App* app_;
  std::shared_ptr<CommandState> state_;
};

/// The program: reads the arguments and runs what they ask for. `help [COMMAND...]` and `version` are commands of every
/// program.
class Program {
 public:
  Program(const std::string& name, const std::string& description, const std::string& version);
  ~Program();
  Command& root() { return root_; }

  /// Adds the command `completion --shell bash|zsh|fish`, which prints a script for that shell.
  Program& add_completion();

  /// The exit code of what ran; 0 after --help and --version; 2 after a line on standard error for arguments that do
  /// not fit, with what was probably meant: `tapeformer: trian: no such command (did you mean train?)`.
  int run(int argc, char** argv);

 private:
  int print_help(const std::vector<std::string>& path) const;
  std::string explain(const std::string& error, const std::vector<std::string>& arguments) const;

  std::string name_, version_;
  std::unique_ptr<CLI::App> app_;
  std::shared_ptr<CommandState> state_;
  Command root_;
};

/// The candidate that a mistyped word is closest to, where one is close: for "did you mean".
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tape::tools
