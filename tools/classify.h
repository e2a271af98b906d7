#pragma once

#include "common.h"
#include "models/heads/classify.h"
#include "text/tokenizers/unknown_tokens.h"

namespace tape::tools {

struct ClassifyArguments {
  std::string model;
  bool all = false, pair = false;
  int64_t buffer = 2000;
  models::ClassifyOptions options;
  Common common;
};

/// Counts of lines that were not read in full.
struct LineStats {
  int64_t count = 0, cut = 0, empty = 0;
  text::UnknownTokens unknown = {};

  /// Prints the counts to standard error, for a model that reads up to `longest` tokens of a line.
  void report(int64_t longest) const;
};

/// Whether a line is empty or only whitespace.
bool is_blank_line(const std::string& text);

/// Lines of label TAB probability, most likely first; only the first one unless `all`. "" if there are none.
std::string ranked_text(const std::vector<std::string>& names, const std::vector<double>& probabilities, bool all);

}  // namespace tape::tools
