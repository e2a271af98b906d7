#pragma once

#include <memory>

#include "../models/folder.h"
#include "../text/tokenizer.h"
#include "study.h"

namespace tape::inspect {

/// What a model is looked at with, as people write it: the options of `tapeformer inspect`, by whose names errors call
/// them.
struct SubjectOptions {
  std::string text = {};                   ///< what the model reads
  std::optional<std::string> text_b = {};  ///< a translator's target (else its greedy translation), or a pair's second
  std::optional<std::string> label = {};   ///< of a classifier: whose loss it is
  std::vector<std::string> logits = {};    ///< POSITION:TOKEN, further outputs
  std::vector<std::string> losses = {};    ///< POSITION, whose own loss is a further output
};

/// A model folder with its tokenizer, and the study of the texts given.
class Subject {
 public:
  /// Errors: (format) for a text that is no UTF-8, (config) for an option that does not fit the model, for more tokens
  /// than a page can show and a tokenizer with more than the model; and those of load_model() and load_tokenizer().
  Subject(const std::string& folder, const SubjectOptions& options);

  const Study& study() const { return study_; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  /// "Gpt: the tokens of the text"
  std::string title() const;

 private:
  models::AnyModel model_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  Study study_;
};

}  // namespace tape::inspect
