#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/heads/label_words.h"
#include "text/tokenizer.h"
#include "tools/classify.h"

namespace tape::tools {

/// Lines of words to a label for each word: `tapeformer classify` with a TokenClassifier.
class WordLabels {
 public:
  /// Error (config) for arguments that are of whole texts.
  WordLabels(const ClassifyArguments& arguments, std::unique_ptr<models::TokenClassifier> model);

  /// Output for some lines, in their order.
  std::string lines(const std::vector<std::string>& texts);
  void report() const;

 private:
  using Probabilities = std::vector<double>;  // of a word's labels; none for a word without a token
  text::WordIds encoded(const std::vector<std::string>& words);
  std::string plain(const std::vector<std::string>& words, const std::vector<Probabilities>& found) const;
  std::string json(const std::vector<std::string>& words, const std::vector<Probabilities>& found) const;

  const ClassifyArguments& arguments_;
  std::unique_ptr<models::TokenClassifier> model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::vector<std::string> names_;
  ReadLines read_;
  int64_t words_ = 0, without_ = 0;
};

}  // namespace tape::tools
