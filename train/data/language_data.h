#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../models/decoders/causal_lm.h"
#include "../trainer/loader.h"
#include "token_store.h"

namespace tape::train {

/// A batch for a language model; all lists are [rows, length].
struct LanguageBatch {
  static constexpr int64_t kIgnoreIndex =
      -100;  ///< target of positions without loss, the ignore_index of cross_entropy()

  std::vector<int64_t> in = {}, out = {};  ///< input tokens and targets
  /// For packed rows: each token's position in its document, and the index of its document in the row. Empty for other
  /// rows, whose positions are 0, 1, ...
  std::vector<int64_t> positions = {}, documents = {};
  int64_t rows = 0, length = 0;
  int64_t learned = 0;  ///< number of targets
};

/// Rows [first, first + rows) of a batch.
LanguageBatch slice_rows(const LanguageBatch& batch, int64_t first, int64_t rows);

/// Mean loss over a batch's targets. Documents of one row do not attend to each other.
Tensor loss_of(models::CausalLM& model, const LanguageBatch& batch);

/// A prompt for a sample, and how the text continues.
struct LanguagePrompt {
  std::vector<int64_t> begin, rest;
};

struct LanguageDataOptions {
  int64_t context = 0;  ///< sequence length in tokens
  int64_t batch = 0;    ///< number of rows
  uint64_t seed = 0;
  bool pack = false;  ///< several documents per row, without attention between them
};

/// The training and validation data of a language model, as batches.
///
/// A plain text, and documents without prompts unless packed, form one long stream that is cut into windows of
/// `context` tokens, at other positions in each epoch (text/batch_plan.h). Documents with prompts have a row each,
/// padded at the end; only their completions are learned, and `batch` of similar length are grouped. With `pack`, rows
/// of `context` tokens are filled with as many documents as fit (best fit, in a random order given by the seed).
/// Documents of one row do not attend to each other, their positions restart at 0, and no document's last token is
/// trained to predict the next one's first. A document longer than `context` is split; one with a prompt is truncated.
class LanguageData {
 public:
  virtual ~LanguageData() = default;
  LanguageData(const LanguageData&) = delete;
  LanguageData& operator=(const LanguageData&) = delete;

  virtual EpochPlan plan(int64_t epoch) const = 0;
  /// Batch of examples of the plan. Thread-safe.
  virtual LanguageBatch training_batch(const std::vector<int64_t>& examples) const = 0;
  virtual int64_t valid_batches() const = 0;
  virtual LanguageBatch valid_batch(int64_t number) const = 0;
  /// At most `tokens` tokens of a prompt and `rest` of its continuation.
  virtual LanguagePrompt prompt(int64_t tokens, int64_t rest) const = 0;
  /// "the beginning of the validation text, continued"
  virtual std::string prompt_name() const = 0;
  /// Messages to print at the start.
  virtual std::vector<std::string> notes() const { return {}; }

 protected:
  LanguageData() = default;
};

/// Throws Error (config) if a text is too short for training or validation, or if `pack` is set without documents.
std::unique_ptr<LanguageData> make_language_data(TokenStore store, const TextSources& texts,
                                                 const LanguageDataOptions& options);

}  // namespace tape::train
