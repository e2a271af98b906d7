#pragma once

#include <memory>
#include <string>

#include "tokenizers/config.h"
#include "tokenizers/language_kind.h"
#include "tokenizers/pipeline.h"

namespace tape::text {

/// A pipeline that may be of several languages (mBART, mBART-50, NLLB): encodes texts of one, target() those of
/// another.
class LanguagePipeline : public Pipeline {
 public:
  const Tokenizer& target() const override;
  std::optional<int64_t> language() const override { return language_; }
  bool language_begins() const override { return language_begins_; }

 protected:
  using Pipeline::Pipeline;

  /// Puts the language's token around texts: that of `config`, the class's own where that names none. A target side is
  /// made where there is a tgt_lang. Error (format) `where: ...` listing the languages for one that the table lacks.
  void surround_with_languages(const LanguageKind& kind, const TokenizerConfig& config, const std::string& where);

 private:
  class OtherSide;  // the same, for texts in another language

  std::optional<int64_t> language_;
  bool language_begins_ = false;
  std::unique_ptr<const Tokenizer> target_;
};

}  // namespace tape::text
