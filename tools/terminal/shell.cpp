#include "tools/terminal/shell.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace tape::tools {

namespace {

std::string& called() {
  static std::string path = "tapeformer";
  return path;
}

}  // namespace

void set_command_path(std::string path) { called() = std::move(path); }

std::string command_path() {
  const std::string& path = called();
  if (path.find('/') == std::string::npos) return path;
  std::error_code failed;
  const std::string near = std::filesystem::proximate(path, failed).string();
  return failed || near.empty() || near.size() >= path.size() ? path : near;
}

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '/' ||
           c == '_' || c == '-';
  };
  return !word.empty() && std::all_of(word.begin(), word.end(), plain) ? word : shell_quoted(word);
}

}  // namespace tape::tools
