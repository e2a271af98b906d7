#include "text/tokenizers/language_pipeline.h"

namespace tape::text {

class LanguagePipeline::OtherSide : public Tokenizer {
 public:
  OtherSide(const LanguagePipeline& whole, int64_t language, bool behind) : whole_(whole), language_(language) {
    special_ = whole.special_;
    set_language_template(language, behind);
  }

  std::optional<int64_t> language() const override { return language_; }
  bool target_begins_with_language() const override { return whole_.target_begins_with_language(); }
  int64_t vocab_size() const override { return whole_.vocab_size(); }
  const std::string& token(int64_t id) const override { return whole_.token(id); }
  std::optional<int64_t> find(std::string_view token) const override { return whole_.find(token); }
  bool is_special(int64_t id) const override { return whole_.is_special(id); }
  void save(const std::string& folder) const override { whole_.save(folder); }
  std::vector<std::string> explain(std::string_view text) const override { return whole_.explain(text); }

 private:
  void split(std::string_view text, std::vector<Piece>& to) const override { whole_.split(text, to); }
  std::string join(std::span<const int64_t> ids) const override { return whole_.join(ids); }

  const LanguagePipeline& whole_;
  int64_t language_;
};

const Tokenizer& LanguagePipeline::target() const { return target_ ? *target_ : *this; }

void LanguagePipeline::set_language_templates(const LanguageKind& kind, const TokenizerConfig& config,
                                              const std::string& where) {
  target_begins_with_language_ = kind.target_begins_with_language;
  const bool behind =
      kind.language_after_text || (kind.legacy_language_after_text && config.legacy_behaviour.value_or(false));
  language_ = kind.required_language(kind.source_of(config), config, table(), where);
  set_language_template(*language_, behind);
  if (config.tgt_lang.empty()) return;
  target_ = std::make_unique<OtherSide>(*this, kind.required_language(config.tgt_lang, config, table(), where), behind);
}

}  // namespace tape::text
