#include "tests/support/files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "base/error.h"

namespace tape {

namespace {

void write(const std::string& path, std::string_view text, std::ios::openmode mode) {
  std::ofstream file(path, std::ios::binary | mode);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) raise(ErrorKind::io, "{}: the test cannot write it", path);
}

}  // namespace

std::string write_text(const std::string& path, std::string_view text) {
  write(path, text, std::ios::trunc);
  return path;
}

void append_text(const std::string& path, std::string_view text) { write(path, text, std::ios::app); }

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) raise(ErrorKind::io, "{}: the test cannot read it", path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::vector<std::string> entries_of(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tape
