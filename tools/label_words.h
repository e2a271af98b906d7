#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/heads/label_words.h"
#include "text/tokenizers/tokenizer.h"
#include "tools/classify.h"

namespace tape::tools {

/// Labels each word of lines of text: `tapeformer classify` with a TokenClassifier.
class WordLabeler {
 public:
  /// Throws Error (config) for arguments that only apply to whole texts.
  WordLabeler(const ClassifyArguments& arguments, std::unique_ptr<models::TokenClassifier> model);

  /// Output for some lines, in input order.
  std::string lines(const std::vector<std::string>& texts);
  void report() const;

 private:
  using Probabilities = std::vector<double>;  // of a word's labels; empty for a word without tokens
  text::WordIds encoded(const std::vector<std::string>& words);
  std::string plain(const std::vector<std::string>& words, const std::vector<Probabilities>& found) const;
  std::string json(const std::vector<std::string>& words, const std::vector<Probabilities>& found) const;

  const ClassifyArguments& arguments_;
  std::unique_ptr<models::TokenClassifier> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::vector<std::string> names_;
  LineStats read_;
  int64_t words_ = 0, without_ = 0;
};

}  // namespace tape::tools
