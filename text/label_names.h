#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tape::text {

/// The labels that there may be: those of training for a corpus to test with. Without them a corpus brings its own.
using LabelNames = std::optional<std::span<const std::string>>;

/// The numbers of a corpus's labels: their places among those that there may be, or among all that it has, sorted: by
/// value when each is a whole number, else by bytes; so the numbering does not depend on the order of lines.
class LabelNumbers {
 public:
  LabelNumbers(LabelNames known, std::vector<std::string> found);

  /// Error (format) naming file, line and label, and some of those that there are, for one that is none of them.
  int64_t of(const std::string& label, const std::string& file, int64_t line) const;
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

/// Labels as they are met in a file, numbered in that order until all of them are known.
class MetLabels {
 public:
  explicit MetLabels(std::string file) : file_(std::move(file)) {}

  int64_t add(std::string_view label, int64_t line);
  /// The number of each in LabelNumbers. Errors as there.
  struct Numbered {
    std::vector<int64_t> numbers;
    std::vector<std::string> names;
  };
  Numbered finish(LabelNames known) const;

 private:
  std::string file_;
  std::vector<std::string> names_;
  std::vector<int64_t> lines_;  // where each was met first
  std::unordered_map<std::string, int64_t> places_;
};

}  // namespace tape::text
