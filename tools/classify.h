#pragma once

#include "common.h"
#include "models/heads/classify.h"
#include "text/unknown_tokens.h"

namespace tape::tools {

struct ClassifyArguments {
  std::string model;
  bool all = false, pair = false;
  int64_t buffer = 2000;
  models::ClassifyOptions options;
  Common common;
};

/// What of the lines was not read in full, for people.
struct ReadLines {
  int64_t count = 0, cut = 0, empty = 0;
  text::UnknownTokens unknown = {};

  /// To standard error, for a model that reads `longest` tokens of a line.
  void report(int64_t longest) const;
};

/// Whether a line has nothing but blanks.
bool is_blank_line(const std::string& text);

/// Labels TAB probabilities, the likeliest first; that one alone unless `all`. A line break ends it; "" for none.
std::string ranked_text(const std::vector<std::string>& names, const std::vector<double>& probabilities, bool all);

}  // namespace tape::tools
