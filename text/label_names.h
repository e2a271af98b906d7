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
/// value when each is a whole number, else by bytes; so the numbering does not depend on the order of lines. Until all
/// are met they have the numbers in which they are.
class LabelNumbers {
 public:
  explicit LabelNumbers(std::string file) : file_(std::move(file)) {}

  /// The number in that order.
  int64_t met(std::string_view label, int64_t line);
  struct Final {
    std::vector<int64_t> numbers;  ///< of the labels in the order in which they were met
    std::vector<std::string> names;
  };
  /// Error (format) naming file, line and label, and some of those that there are, for one that is none of them.
  Final finish(LabelNames known) const;

 private:
  std::string file_;
  std::vector<std::string> names_;
  std::vector<int64_t> lines_;  // where each was met first
  std::unordered_map<std::string, int64_t> places_;
};

}  // namespace tape::text
