#pragma once

#include "../../text/corpus/batch_plan.h"
#include "language_data.h"

namespace tape::train {

/// A document or a piece of one. The model reads tokens [begin, end - 1) and is trained to predict those of
/// [begin + 1, end) from `learned` on.
struct DocumentPart {
  int64_t begin = 0, end = 0;
  int64_t learned = 0;  ///< index of the first target token

  int64_t length() const { return end - begin - 1; }
};

/// Rows of parts, each with at most `context` input tokens.
using PackedRows = std::vector<std::vector<int64_t>>;

/// Packs parts, given by their lengths (at least 1), into rows, in a random order given by the seed: each part goes
/// into the fullest row that still has room for it (best fit).
PackedRows pack_rows(const std::vector<int64_t>& lengths, int64_t context, uint64_t seed);

/// Documents, one per row or packed: see LanguageData.
class DocumentData : public LanguageData {
 public:
  DocumentData(const TokenStore& store, const TextSources& texts, const LanguageDataOptions& options);

  EpochPlan plan(int64_t epoch) const override;
  LanguageBatch training_batch(const std::vector<int64_t>& examples) const override;
  int64_t valid_batches() const override { return std::ssize(valid_.batches); }
  LanguageBatch valid_batch(int64_t number) const override;
  LanguagePrompt prompt(int64_t tokens, int64_t rest) const override;
  std::string prompt_name() const override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  /// Training or validation data.
  struct Side {
    StoredTokens tokens;
    std::vector<DocumentPart> parts = {};
    std::vector<text::ExampleLength> lengths = {};   // of the parts
    PackedRows rows = {};                            // empty unless packed
    std::vector<std::vector<int64_t>> batches = {};  // validation only
  };
  Side make_side(const StoredTokens& tokens, const std::vector<StoredDocument>& documents, const std::string& file);
  LanguageBatch rows_of(const Side& side, const std::vector<int64_t>& examples) const;
  LanguageBatch packed_rows_of(const Side& side, const std::vector<int64_t>& examples) const;
  LanguageBatch batch_of(const Side& side, const std::vector<int64_t>& examples) const;
  text::BatchOptions batching(int64_t rows) const;

  const LanguageDataOptions options_;
  const bool prompts_;
  std::vector<std::string> notes_;
  Side train_, valid_;
};

}  // namespace tape::train
