#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../models/decoders/causal_lm.h"
#include "../trainer/loader.h"
#include "token_store.h"

namespace tape::train {

/// Rows of tokens as a language model takes them; all lists are [rows, length].
struct LanguageBatch {
  static constexpr int64_t kNotLearned =
      -100;  ///< what `out` holds where nothing is learned, as cross_entropy() has it

  std::vector<int64_t> in = {}, out = {};  ///< what is read, and what must be said
  /// Of packed rows: where each token stands in its document, and the number of the document in the row. Empty for
  /// others, whose tokens stand where they are.
  std::vector<int64_t> positions = {}, documents = {};
  int64_t rows = 0, length = 0;
  int64_t learned = 0;  ///< tokens to say
};

/// The mean loss of a batch's learned tokens. Documents of one row do not see each other.
Tensor loss_of(models::CausalLM& model, const LanguageBatch& batch);

/// A beginning that a sample goes on from, and how the text does.
struct LanguagePrompt {
  std::vector<int64_t> begin, rest;
};

struct LanguageDataOptions {
  int64_t context = 0;  ///< tokens that the model reads at once
  int64_t batch = 0;    ///< rows
  uint64_t seed = 0;
  bool pack = false;  ///< several documents a row, kept apart
};

/// What a language model learns from, as batches.
///
/// A text, and documents without prompts that are not packed, are windows of `context` tokens of one long stream, which
/// lie elsewhere in each epoch (text/batch_plan.h). Documents with prompts are rows of their own, of which completions
/// alone are learned, padded behind: `batch` of like length together. With `pack` rows of `context` tokens are filled
/// with as many documents as fit (best fit, in a random order that is the seed's), which neither see each other nor are
/// told of each other: positions begin anew, and the last token of one does not say the first of the next. A document
/// longer than `context` is cut into several; one with a prompt loses its end.
class LanguageData {
 public:
  virtual ~LanguageData() = default;
  LanguageData(const LanguageData&) = delete;
  LanguageData& operator=(const LanguageData&) = delete;

  virtual EpochPlan plan(int64_t epoch) const = 0;
  /// Of examples of the plan. From several threads at once.
  virtual LanguageBatch training_batch(const std::vector<int64_t>& examples) const = 0;
  virtual int64_t valid_batches() const = 0;
  virtual LanguageBatch valid_batch(int64_t number) const = 0;
  /// At most `tokens` of a beginning and `rest` of what follows.
  virtual LanguagePrompt prompt(int64_t tokens, int64_t rest) const = 0;
  /// "the beginning of the validation text, continued"
  virtual std::string prompt_name() const = 0;
  /// What is told of it at the start.
  virtual std::vector<std::string> notes() const { return {}; }

 protected:
  LanguageData() = default;
};

/// Error (config) for a text too short to train or validate with, and for `pack` where there are no documents.
std::unique_ptr<LanguageData> make_language_data(TokenStore store, const LearnedTexts& texts,
                                                 const LanguageDataOptions& options);

}  // namespace tape::train
