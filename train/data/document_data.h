#pragma once

#include "../../text/batch_plan.h"
#include "language_data.h"

namespace tape::train {

/// A row, or a part of one: tokens that belong together. The model reads [begin, end - 1) and says [begin + 1, end) as
/// far as it learns.
struct DocumentPart {
  int64_t begin = 0, end = 0;
  int64_t learned = 0;  ///< the first token that it says

  int64_t length() const { return end - begin - 1; }
};

/// Rows of parts, each of at most `context` tokens to read.
using PackedRows = std::vector<std::vector<int64_t>>;

/// Fills rows with parts (their lengths, at least 1 each) in a random order by the seed: each goes into the fullest row
/// that has room for it.
PackedRows pack_rows(const std::vector<int64_t>& lengths, int64_t context, uint64_t seed);

/// Documents in rows of their own, or packed: see LanguageData.
class DocumentData : public LanguageData {
 public:
  DocumentData(const TokenStore& store, const LearnedTexts& texts, const LanguageDataOptions& options);

  EpochPlan plan(int64_t epoch) const override;
  LanguageBatch training_batch(const std::vector<int64_t>& examples) const override;
  int64_t valid_batches() const override { return std::ssize(valid_.batches); }
  LanguageBatch valid_batch(int64_t number) const override;
  LanguagePrompt prompt(int64_t tokens, int64_t rest) const override;
  std::string prompt_name() const override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  /// Of training or of validation.
  struct Side {
    StoredTokens tokens;
    std::vector<DocumentPart> parts = {};
    std::vector<text::ExampleLength> lengths = {};   // of the parts
    PackedRows rows = {};                            // of the parts; empty unless packed
    std::vector<std::vector<int64_t>> batches = {};  // of validation
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
