#include "tools/shell.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tape::tools {

std::string command_path() {
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string called;
  if (!std::getline(arguments, called, '\0') || called.empty()) return "tapeformer";
  if (called.find('/') == std::string::npos) return called;
  std::error_code failed;
  const std::string near = std::filesystem::proximate(called, failed).string();
  return failed || near.empty() || near.size() >= called.size() ? called : near;
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
