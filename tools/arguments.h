#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {  // CLI11 takes 15 seconds to compile, so only arguments.cpp includes it
class App;
class Option;
}  // namespace CLI

namespace tape::tools {

/// One option of a command. A value that violates a rule ends the program with exit code 2 and one line that names the
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
  Option& device();       ///< "cpu", "cuda" or "cuda:N"
  Option& needs(const Option& other);
  Option& excludes(const Option& other);
  /// Text that --help shows as the default if the default depends on other options: "preset".
  Option& default_text(const std::string& text);
  /// Placeholder for the value in --help. "FILE" and "DIR" mark paths: see Command::saves_options().
  Option& value_name(const std::string& name);

 private:
  CLI::Option* option_;
};

/// State that the commands of a program share.
struct CommandState {
  std::function<int()> chosen = {};
  std::vector<const CLI::App*> keeping = {};  ///< commands that save their options
  std::set<std::string> given = {};           ///< options in the command line
};

/// A command of the program and its options.
class Command {
 public:
  using Run = std::function<int()>;
  Command(CLI::App* app, std::shared_ptr<CommandState> state) : app_(app), state_(std::move(state)) {}

  Command subcommand(const std::string& name, const std::string& description);
  /// Last lines of --help, with a command line that works: "Example: ...".
  Command& footer(const std::string& text);
  /// Function that runs the command after parsing and returns the exit code. A command without one is a group of
  /// subcommands.
  Command& runs(Run run);
  /// For a command with --out and --resume that saves its options in the folder of its run. With --resume, options that
  /// are not given default to the run's (saved_arguments.h). The returned function gives the options to save as JSON,
  /// with absolute paths; call it after parsing.
  std::function<std::string()> saves_options();
  /// A function that returns whether an option such as "--lr" is in the command line, and not only among the saved
  /// options of a run; call it after parsing.
  std::function<bool(const std::string&)> given();

  /// `--name VALUE` stores its value in `target`, whose initial value --help shows as the default, except for an
  /// optional. T: std::string, int, int64_t, uint64_t, double, an optional of these, or a vector of strings.
  template <class T>
  Option option(const std::string& name, T& target, const std::string& help);
  /// `--name` sets `target`.
  Option flag(const std::string& name, bool& target, const std::string& help);
  /// An option that maps words to values: `--norm pre`.
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

/// The program: parses the arguments and runs the command. Every program has the commands `help [COMMAND...]` and
/// `version`.
class Program {
 public:
  Program(const std::string& name, const std::string& description, const std::string& version);
  ~Program();
  Command& root() { return root_; }

  /// Adds the command `completion --shell bash|zsh|fish`, which prints a completion script for that shell.
  Program& add_completion();

  /// Returns the exit code of the command, 0 after --help and --version. For invalid arguments, prints one line to
  /// standard error, with a suggestion if there is one, and returns 2:
  /// `tapeformer: trian: no such command (did you mean train?)`.
  int run(int argc, char** argv);

 private:
  int print_help(const std::vector<std::string>& path) const;
  /// Prints an error, once if several processes were started alike, and returns 2.
  int refuse(const std::string& text) const;
  std::string explain(const std::string& error, const std::vector<std::string>& arguments) const;

  std::string name_, version_;
  std::unique_ptr<CLI::App> app_;
  std::shared_ptr<CommandState> state_;
  Command root_;
};

/// Returns the candidate closest to a mistyped word if one is close enough for "did you mean".
std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tape::tools
