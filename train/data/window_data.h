#pragma once

#include "language_data.h"

namespace tape::train {

/// A long text in windows: see LanguageData.
class WindowData : public LanguageData {
 public:
  WindowData(TokenStore store, const LanguageDataOptions& options);

  EpochPlan plan(int64_t epoch) const override;
  LanguageBatch training_batch(const std::vector<int64_t>& starts) const override;
  int64_t valid_batches() const override;
  LanguageBatch valid_batch(int64_t number) const override;
  LanguagePrompt prompt(int64_t tokens, int64_t rest) const override;
  std::string prompt_name() const override { return "the beginning of the validation text, continued"; }

 private:
  int64_t valid_rows() const;

  const TokenStore store_;
  const LanguageDataOptions options_;
  int64_t valid_windows_;
};

}  // namespace tape::train
