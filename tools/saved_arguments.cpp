#include "tools/saved_arguments.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "text/json.h"
#include "train/runs/run_folder.h"

namespace tape::tools {
namespace {

using Json = nlohmann::ordered_json;

/// Options of a single call that are not saved with the run.
constexpr std::array<std::string_view, 8> kOfOneCall{"--out",    "--resume", "--allow-changes", "--overwrite",
                                                     "--doctor", "--json",   "--help",          "--version"};

bool is_of_one_call(std::string_view name) { return std::ranges::find(kOfOneCall, name) != kOfOneCall.end(); }

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? "" : "--" + option.get_lnames().front();
}

bool is_path(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "DIR";
}

/// "train lm"
std::string path_of(const CLI::App& command) {
  std::string path = command.get_name();
  for (const CLI::App* above = command.get_parent(); above && above->get_parent(); above = above->get_parent())
    path = above->get_name() + " " + path;
  return path;
}

struct Given {
  std::string name;                  // "--lr"
  std::optional<std::string> value;  // of --lr=0.1, or the next word
};

/// Every option among the arguments, in their order.
std::vector<Given> given_in(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<Given> all;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--") break;
    if (!word.starts_with("--")) continue;
    const size_t equals = word.find('=');
    Given given{.name = word.substr(0, equals), .value = {}};
    const CLI::Option* const option = command.get_option_no_throw(given.name);
    const bool takes_value = option && option->get_items_expected_max() > 0;
    if (equals != word.npos)
      given.value = word.substr(equals + 1);
    else if (takes_value && i + 1 < arguments.size())
      given.value = arguments[++i];  // whatever it looks like
    all.push_back(std::move(given));
  }
  return all;
}

/// File with the options of the run to resume; "" without --resume.
std::string file_of(const CLI::App& command, const std::vector<Given>& all) {
  if (std::ranges::find(all, "--resume", &Given::name) == all.end()) return "";
  std::string folder = command.get_option("--out")->get_default_str();
  for (const Given& one : all)
    if (one.name == "--out" && one.value) folder = *one.value;
  return folder.empty() ? "" : fmt::format("{}/{}", folder, train::kRunCommand);
}

std::string shown(const Given& given) { return given.value ? *given.value : "nothing"; }

/// The command and options saved in a run's folder; null if there are none.
Json kept_in(const std::string& file) {
  std::error_code not_there;
  if (!std::filesystem::exists(file, not_there)) return nullptr;
  Json kept = parse_json(read_text(file), file);
  if (!kept.is_object() || !kept.contains("command") || !kept["command"].is_string() || !kept.contains("options") ||
      !kept["options"].is_object())
    raise(ErrorKind::format, "{}: must be an object with the keys command and options", file);
  return kept;
}

/// The saved options of a run of `command`; null if its folder has none.
Json kept_options(const CLI::App& command, const std::string& file) {
  const Json kept = kept_in(file);
  if (kept.is_null()) return nullptr;
  const auto wrong = [&file](const std::string& what) { raise(ErrorKind::format, "{}: {}", file, what); };
  if (const std::string of = kept["command"].get<std::string>(); of != path_of(command))
    raise(ErrorKind::config, "{}: the run was started with `{}`, not with `{}`", file, of, path_of(command));
  for (const auto& [name, values] : kept["options"].items()) {
    if (!values.is_array() || values.empty() || !std::ranges::all_of(values, &Json::is_string))
      wrong(fmt::format("{} must be a list of strings", name));
    if (is_of_one_call(name) || !command.get_option_no_throw(name))
      wrong(fmt::format("{} is not an option of `{}`", name, path_of(command)));
  }
  return kept["options"];
}

}  // namespace

std::string saved_arguments(const CLI::App& command) {
  Json options = Json::object();
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = name_of(*option);
    if (name.empty() || option->count() == 0 || is_of_one_call(name)) continue;
    for (std::string value : option->results()) {
      std::error_code failed;
      if (is_path(*option) && !value.empty()) value = std::filesystem::absolute(value, failed).string();
      options[name].push_back(value);
    }
  }
  return dump_json({{"command", path_of(command)}, {"options", std::move(options)}}, 1);
}

bool run_was_started_by(const std::string& command, const std::string& folder) {
  try {
    const Json kept = kept_in(fmt::format("{}/{}", folder, train::kRunCommand));
    return !kept.is_null() && kept["command"] == Json(command);
  } catch (const Error&) {
    return false;
  }
}

std::set<std::string> given_options(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::set<std::string> names;
  for (const Given& one : given_in(command, arguments)) names.insert(one.name);
  return names;
}

std::vector<std::string> with_saved_arguments(const CLI::App& command, std::vector<std::string> arguments) {
  const std::vector<Given> all = given_in(command, arguments);
  const auto given = [&all](const std::string& name) {
    return std::ranges::find(all, name, &Given::name) != all.end();
  };
  const std::string file = file_of(command, all);
  if (file.empty()) return arguments;
  std::vector<std::string> kept;
  const Json options = kept_options(command, file);
  for (const auto& [name, values] : options.items()) {
    const auto& excluded = command.get_option(name)->get_excludes();
    const bool replaced = std::ranges::any_of(
        excluded, [&](const CLI::Option* other) { return !is_of_one_call(name_of(*other)) && given(name_of(*other)); });
    if (given(name) || replaced) continue;
    for (const Json& value : values) {
      const auto text = value.get<std::string>();
      if (text.empty())  // "--name=" would take the next word
        kept.insert(kept.end(), {name, text});
      else
        kept.push_back(fmt::format("{}={}", name, text));
    }
  }
  // Before the given options, so that no option with a list of values consumes them.
  const auto first = std::ranges::find_if(arguments, [](const std::string& word) { return word.starts_with("-"); });
  arguments.insert(first, kept.begin(), kept.end());
  return arguments;
}

std::string explain_required(const CLI::App& command, const std::vector<std::string>& arguments,
                             const std::string& message) {
  const std::vector<Given> all = given_in(command, arguments);
  if (std::ranges::find(all, "--resume", &Given::name) == all.end()) return message;
  const std::string file = file_of(command, all);
  if (file.empty()) return "--out is required with --resume";
  std::error_code not_there;
  if (std::filesystem::exists(file, not_there)) return message;
  return fmt::format("{} ({}, which stores the options of a run, does not exist)", message, file);
}

std::string repeated_option(const CLI::App& command, const std::vector<std::string>& arguments) {
  const std::vector<Given> all = given_in(command, arguments);
  for (size_t i = 0; i < all.size(); ++i) {
    const CLI::Option* const option = command.get_option_no_throw(all[i].name);
    if (!option || option->get_items_expected_max() > 1) continue;
    for (size_t j = i + 1; j < all.size(); ++j) {
      if (all[j].name != all[i].name) continue;
      if (option->get_items_expected_max() == 0) return fmt::format("{}: given twice; give it once", all[i].name);
      return fmt::format("{}: given twice, as {} and {}; give it once", all[i].name, shown(all[i]), shown(all[j]));
    }
  }
  return "";
}

}  // namespace tape::tools
