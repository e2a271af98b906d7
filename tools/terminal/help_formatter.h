#pragma once

#include <set>
#include <string>

#include <CLI/CLI.hpp>

namespace tape::tools {

/// Formats the text after an option's name in --help. CLI11's own layout differs between its versions.
class HelpFormatter : public CLI::Formatter {
 public:
  std::string make_option_opts(const CLI::Option* option) const override {
    std::string text;
    if (option->get_type_size() != 0) {
      if (!option->get_type_name().empty()) text += " " + option->get_type_name();
      if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
      if (option->get_expected_max() == CLI::detail::expected_max_vector_size) text += " ...";
      if (option->get_required()) text += " REQUIRED";
    }
    text += listed(" Needs:", option->get_needs()) + listed(" Excludes:", option->get_excludes());
    return text;
  }

 private:
  static std::string listed(const std::string& title, const std::set<CLI::Option*>& options) {
    std::string text = options.empty() ? "" : title;
    for (const CLI::Option* one : options) text += " " + one->get_name();
    return text;
  }
};

}  // namespace tape::tools
