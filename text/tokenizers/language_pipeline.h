#pragma once

#include <memory>
#include <string>

#include "folder/config.h"
#include "folder/language_kind.h"
#include "steps/pipeline.h"

namespace tape::text {

/// A pipeline that may have languages (mBART, mBART-50, NLLB): encodes texts of one language; target() encodes those
/// of another.
class LanguagePipeline : public Pipeline {
 public:
  /// Encodes texts of the target language; this object itself if there is no tgt_lang.
  const Tokenizer& target() const override;
  /// Token of the language whose texts this object encodes; nullopt without languages.
  std::optional<int64_t> language() const override { return language_; }
  /// Whether a target begins with its language (mBART), so that it is not generated.
  bool target_begins_with_language() const override { return target_begins_with_language_; }

 protected:
  using Pipeline::Pipeline;

  /// Adds the language token around texts: the language in `config`, or else the class's default. Creates a target
  /// side if there is a tgt_lang. Throws Error (format) `where: ...` with the list of languages for an unknown one.
  void set_language_templates(const LanguageKind& kind, const TokenizerConfig& config, const std::string& where);

 private:
  class OtherSide;  // the same tokenizer for texts in another language

  std::optional<int64_t> language_;
  bool target_begins_with_language_ = false;
  std::unique_ptr<const Tokenizer> target_;
};

}  // namespace tape::text
