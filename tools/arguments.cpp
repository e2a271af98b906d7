#include "tools/arguments.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <sstream>
#include <type_traits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/device.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tools/decimal.h"
#include "tools/saved_arguments.h"
#include "tools/terminal/completion.h"
#include "tools/terminal/help_formatter.h"
#include "train/distributed/world.h"

namespace tape::tools {
namespace {

/// Names that other programs use for our options.
struct OtherName {
  std::string_view theirs, ours;
};
constexpr OtherName kOtherNames[] = {
    {"--learning-rate", "--lr"},  {"--learning_rate", "--lr"},    {"--output", "--out"},
    {"--output-dir", "--out"},    {"--warm-up", "--warmup"},      {"--bleu", "--tokenize"},
    {"--num-epochs", "--epochs"}, {"--warmup-steps", "--warmup"}, {"--max-steps", "--steps"},
    {"--num-beams", "--beam"},    {"--beams", "--beam"},          {"--gradients", "--grads"},
    {"--batch-size", "--batch"},  {"--source", "--src"},          {"--dtype", "--precision"},
    {"--bf16", "--precision"},
};

std::string shown(double number) { return fmt::format("{:g}", number); }

/// A rule about a numeric value. It also refuses text that is not a number.
CLI::Validator rule(const std::string& text, const std::function<bool(double)>& holds) {
  return CLI::Validator(
      [text, holds](const std::string& value) -> std::string {
        double number = 0;
        if (CLI::detail::lexical_cast(value, number) && std::isfinite(number) && holds(number)) return {};
        return fmt::format("must be {}, got {}", text, value);
      },
      "");
}

template <class T>
struct ValueOf {
  using type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using type = T;
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

std::vector<std::string> subcommands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> options_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

void list_completions(const CLI::App& app, const std::string& path, std::vector<Completions>& all) {
  Completions command{.path = path, .help = app.get_description(), .commands = subcommands_of(app), .options = {}};
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      const std::string type = option->get_type_name(), help = option->get_description();
      Completions::Option completed{.name = "--" + name,
                                    .help = help.substr(0, help.find('\n')),
                                    .values = {},
                                    .takes_value = option->get_items_expected_max() > 0};
      if (type.size() > 2 && type.front() == '{') {
        std::istringstream words(type.substr(1, type.size() - 2));
        for (std::string word; std::getline(words, word, ',');) completed.values.push_back(word);
      }
      command.options.push_back(std::move(completed));
    }
  }
  all.push_back(std::move(command));
  for (const CLI::App* below : app.get_subcommands({}))
    list_completions(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), all);
}

/// The deepest command that the arguments select.
const CLI::App* reached(const CLI::App* app, const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments) {
    const std::vector<std::string> names = subcommands_of(*app);
    if (std::find(names.begin(), names.end(), word) == names.end()) break;
    app = app->get_subcommand(word);
  }
  return app;
}

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::Validator(
      [values](const std::string& value) -> std::string {
        if (std::find(values.begin(), values.end(), value) != values.end()) return {};
        const auto meant = closest(value, values);
        return fmt::format("must be {}, got {}{}", joined(values), value,
                           meant ? fmt::format(" (did you mean {}?)", *meant) : "");
      },
      ""));
  option_->type_name(fmt::format("{{{}}}", fmt::join(values, ",")));
  return *this;
}

Option& Option::at_least(double least) {
  option_->check(rule("at least " + shown(least), [least](double x) { return x >= least; }));
  return *this;
}

Option& Option::above(double bound) {
  option_->check(rule("above " + shown(bound), [bound](double x) { return x > bound; }));
  return *this;
}

Option& Option::within(double least, double most) {
  option_->check(rule(fmt::format("from {} to {}", shown(least), shown(most)),
                      [least, most](double x) { return x >= least && x <= most; }));
  return *this;
}

Option& Option::probability() {
  option_->check(rule("at least 0 and below 1", [](double x) { return x >= 0 && x < 1; }));
  return *this;
}

Option& Option::device() {
  option_->check([](const std::string& given) {
    try {
      parse_device(given);
      return std::string();
    } catch (const Error&) {
      return fmt::format("must be cpu, cuda or cuda:N, got {}", given);
    }
  });
  return *this;
}

Option& Option::needs(const Option& other) {
  option_->needs(other.option_);
  return *this;
}

Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option& Option::default_text(const std::string& text) {
  option_->default_str(text);
  return *this;
}

Option& Option::value_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Command Command::subcommand(const std::string& name, const std::string& description) {
  return {app_->add_subcommand(name, description), state_};
}

Command& Command::footer(const std::string& text) {
  app_->footer(text);
  return *this;
}

Command& Command::runs(Run run) {
  app_->callback([state = state_, run = std::move(run)] { state->chosen = run; });
  return *this;
}

std::function<std::string()> Command::saves_options() {
  state_->keeping.push_back(app_);
  return [app = app_] { return saved_arguments(*app); };
}

std::function<bool(const std::string&)> Command::given() {
  // Not shared, since the state keeps what runs the command, and with it this function.
  return [state = state_.get()](const std::string& name) { return state->given.contains(name); };
}

template <class T>
Option Command::option(const std::string& name, T& target, const std::string& help) {
  CLI::Option* const option = app_->add_option(name, target, help);
  if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) option->capture_default_str();
  using Value = typename ValueOf<T>::type;
  if constexpr (std::is_arithmetic_v<Value>) option->transform(CLI::Validator(&check_decimal<Value>, ""));
  if constexpr (std::is_same_v<Value, uint64_t>) return Option(option).at_least(0);
  return Option(option);
}
template Option Command::option(const std::string&, std::string&, const std::string&);
template Option Command::option(const std::string&, int&, const std::string&);
template Option Command::option(const std::string&, int64_t&, const std::string&);
template Option Command::option(const std::string&, uint64_t&, const std::string&);
template Option Command::option(const std::string&, double&, const std::string&);
template Option Command::option(const std::string&, std::vector<std::string>&, const std::string&);
template Option Command::option(const std::string&, std::optional<std::string>&, const std::string&);
template Option Command::option(const std::string&, std::optional<int64_t>&, const std::string&);
template Option Command::option(const std::string&, std::optional<uint64_t>&, const std::string&);
template Option Command::option(const std::string&, std::optional<double>&, const std::string&);

Option Command::flag(const std::string& name, bool& target, const std::string& help) {
  return Option(app_->add_flag(name, target, help));
}

Option Command::read(const std::string& name, const std::function<void(const std::string&)>& take,
                     const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, take, help));
}

Program::Program(const std::string& name, const std::string& description, const std::string& version)
    : name_(name),
      version_(version),
      app_(std::make_unique<CLI::App>(description, name)),
      state_(std::make_shared<CommandState>()),
      root_(app_.get(), state_) {
  app_->formatter(std::make_shared<HelpFormatter>());
  app_->set_version_flag("--version", version);
  // Only listed here. It runs before parsing, because its arguments are names of commands, not commands.
  app_->add_subcommand("help", "Same as --help, for the program or for a command: help train lm");
  app_->add_subcommand("version", "Same as --version")->callback([this] {
    state_->chosen = [this] {
      std::cout << version_ << "\n";
      return 0;
    };
  });
}

Program::~Program() = default;

Program& Program::add_completion() {
  const auto shell = std::make_shared<std::string>();
  Command command = root_.subcommand("completion", "Print a shell script that completes commands and options");
  command.footer(
      fmt::format("bash, in ~/.bashrc:  source <({0} completion --shell bash)\n"
                  "zsh, in ~/.zshrc:    source <({0} completion --shell zsh)\n"
                  "fish:                {0} completion --shell fish > ~/.config/fish/completions/{0}.fish",
                  name_));
  command.option("--shell", *shell, "Shell to print a script for").one_of({"bash", "zsh", "fish"}).required();
  command.runs([this, shell] {
    std::vector<Completions> all;
    list_completions(*app_, "", all);
    std::cout << completion_script(*shell, name_, all);
    return 0;
  });
  return *this;
}

int Program::run(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  if (!arguments.empty() && arguments.front() == "help") return print_help({arguments.begin() + 1, arguments.end()});
  const CLI::App* const command = reached(app_.get(), arguments);
  if (const std::string twice = repeated_option(*command, arguments); !twice.empty()) return refuse(twice);
  try {
    state_->given = given_options(*command, arguments);
    std::vector<std::string> all = arguments;
    if (std::ranges::find(state_->keeping, command) != state_->keeping.end())
      all = with_saved_arguments(*command, std::move(all));
    std::ranges::reverse(all);  // the order that CLI11 expects
    app_->parse(std::move(all));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app_->exit(asked);
  } catch (const CLI::ParseError& error) {
    const bool keeps = std::ranges::find(state_->keeping, command) != state_->keeping.end();
    const bool required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    std::string text = explain(error.what(), arguments);
    if (keeps && required && text == error.what()) text = explain_required(*command, arguments, text);
    return refuse(tape::Error(ErrorKind::config, text).what());  // shortens long messages
  }
  if (state_->chosen) return state_->chosen();
  return refuse(fmt::format("{}needs one of these commands: {}", command == app_.get() ? "" : command->get_name() + " ",
                            joined(subcommands_of(*command))));
}

int Program::refuse(const std::string& text) const {
  // In one write, because mpirun inserts its own lines between writes.
  train::abort_all_ranks(2, [&](const std::string& who) { std::cerr << fmt::format("{}: {}{}\n", name_, who, text); });
  return 2;
}

int Program::print_help(const std::vector<std::string>& path) const {
  const CLI::App* command = app_.get();
  std::string before = name_;
  for (const std::string& word : path) {
    if (word == "--help") continue;
    const std::vector<std::string> names = subcommands_of(*command);
    if (std::find(names.begin(), names.end(), word) == names.end()) {
      const auto meant = closest(word, names);
      return refuse(fmt::format("help {}: no such command{}", clipped(word, 100),
                                meant ? fmt::format(" (did you mean {}?)", *meant) : ""));
    }
    if (command != app_.get()) before += " " + command->get_name();
    command = command->get_subcommand(word);
  }
  std::cout << command->help(command == app_.get() ? "" : before);
  return 0;
}

std::string Program::explain(const std::string& error, const std::vector<std::string>& arguments) const {
  const CLI::App* const command = reached(app_.get(), arguments);
  const std::vector<std::string> commands = subcommands_of(*command), options = options_of(*command);
  const auto meant = [](const std::optional<std::string>& word) {
    return word ? fmt::format(" (did you mean {}?)", *word) : std::string();
  };
  for (const std::string& argument : arguments) {
    const std::string word = argument.substr(0, argument.find('='));
    if (!word.starts_with("--")) continue;
    if (word == "--" || std::find(options.begin(), options.end(), word) != options.end()) continue;
    for (const auto& [theirs, ours] : kOtherNames)
      if (word == theirs && std::find(options.begin(), options.end(), ours) != options.end())
        return fmt::format("{}: no such option (use {})", word, ours);
    return fmt::format("{}: no such option{}", word, meant(closest(word, options)));
  }
  // The first word that is not a command.
  const CLI::App* at = app_.get();
  for (const std::string& word : arguments) {
    if (at == command && !commands.empty() && !word.starts_with("-"))
      return fmt::format("{}: no such command{}", word, meant(closest(word, commands)));
    if (word.starts_with("-") || at == command) break;
    at = at->get_subcommand(word);
  }
  return error;
}

std::optional<std::string> closest(std::string_view word, const std::vector<std::string>& candidates) {
  const auto distance = [](std::string_view a, std::string_view b) {  // insertions, deletions, changes, swaps
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
    std::iota(d[0].begin(), d[0].end(), size_t{0});
    for (size_t i = 1; i <= a.size(); ++i)
      for (size_t j = 1; j <= b.size(); ++j) {
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
          d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    return d[a.size()][b.size()];
  };
  std::optional<std::string> best;
  size_t least = std::max<size_t>(word.size() / 3, 1) + 1;
  for (const std::string& candidate : candidates)
    if (const size_t d = distance(word, candidate); d < least) least = d, best = candidate;
  return best;
}

}  // namespace tape::tools
