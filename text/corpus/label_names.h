#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tape::text {

/// Labels known from training, for test data. Without them the corpus defines its own.
using LabelNames = std::optional<std::span<const std::string>>;

/// Assigns ids to labels: indices into the known labels, or into all labels of the corpus, sorted by value if all are
/// integers, else by bytes, so that ids do not depend on the order of lines. Until finish(), ids are in order of first
/// appearance.
class LabelEncoder {
 public:
  explicit LabelEncoder(std::string file) : file_(std::move(file)) {}

  /// Returns the label's provisional id, by first appearance.
  int64_t add_label(std::string_view label, int64_t line);
  struct Final {
    std::vector<int64_t> numbers;  ///< final id for each provisional id
    std::vector<std::string> names;
  };
  /// Throws Error (format) with file, line, label and some known labels for a label that is not in `known`.
  Final finish(LabelNames known) const;

 private:
  std::string file_;
  std::vector<std::string> names_;
  std::vector<int64_t> lines_;  // line of first appearance
  std::unordered_map<std::string, int64_t> places_;
};

}  // namespace tape::text
