#pragma once

#include "tokenizer.h"
#include "vocabulary.h"

namespace tape::text {

/// The tokenizer of the built-in number-words task: German is split into morphemes, English into words and hyphens
/// (text/number_words.h), and a vocabulary a language gives the ids. The end token stands behind the text; what is in
/// no vocabulary is <unk>.
///
/// This object encodes the source, German; target() English.
class NumberWordsTokenizer : public Tokenizer {
 public:
  NumberWordsTokenizer(Vocabulary german, Vocabulary english);
  /// Reads src_vocab.txt and tgt_vocab.txt of a folder, as `tapeformer demo` writes them.
  static std::unique_ptr<NumberWordsTokenizer> load(const std::string& folder);

  const Tokenizer& target() const override { return target_ ? *target_ : *this; }
  int64_t vocab_size() const override { return own().size(); }
  const std::string& token(int64_t id) const override { return own().token(id); }
  std::optional<int64_t> find(std::string_view token) const override;
  bool is_special(int64_t id) const override { return id >= Vocabulary::pad && id <= Vocabulary::eos; }
  std::vector<std::string> explain(std::string_view text) const override;
  /// Writes the files that load reads.
  void save(const std::string& folder) const override;

 private:
  struct Vocabularies {
    Vocabulary german, english;
  };
  enum class Language { german, english };
  NumberWordsTokenizer(std::shared_ptr<const Vocabularies> vocabularies, Language language);

  const Vocabulary& own() const {
    return language_ == Language::german ? vocabularies_->german : vocabularies_->english;
  }
  void split(std::string_view text, std::vector<Piece>& to) const override;
  std::string join(std::span<const int64_t> ids) const override;

  std::shared_ptr<const Vocabularies> vocabularies_;
  Language language_;
  std::unique_ptr<NumberWordsTokenizer> target_;
};

}  // namespace tape::text
