#include "text/number_words_tokenizer.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/number_words.h"

namespace tape::text {

NumberWordsTokenizer::NumberWordsTokenizer(std::shared_ptr<const Vocabularies> vocabularies, Language language)
    : vocabularies_(std::move(vocabularies)), language_(language) {
  special_ = {.pad = Vocabulary::pad, .unk = Vocabulary::unk, .bos = Vocabulary::bos, .eos = Vocabulary::eos};
  template_.single = {{Part::Kind::first}, {Part::Kind::special, Vocabulary::eos}};
}

NumberWordsTokenizer::NumberWordsTokenizer(Vocabulary german, Vocabulary english)
    : NumberWordsTokenizer(std::make_shared<const Vocabularies>(Vocabularies{std::move(german), std::move(english)}),
                           Language::german) {
  target_.reset(new NumberWordsTokenizer(vocabularies_, Language::english));
}

std::unique_ptr<NumberWordsTokenizer> NumberWordsTokenizer::load(const std::string& folder) {
  return std::make_unique<NumberWordsTokenizer>(Vocabulary::load(file_in_folder(folder, "src_vocab.txt")),
                                                Vocabulary::load(file_in_folder(folder, "tgt_vocab.txt")));
}

std::optional<int64_t> NumberWordsTokenizer::find(std::string_view token) const {
  if (!own().contains(token)) return std::nullopt;
  return own().id(token);
}

void NumberWordsTokenizer::split(std::string_view text, std::vector<Piece>& to) const {
  size_t at = 0;
  for (const std::string& token : language_ == Language::german ? split_german(text) : split_english(text)) {
    at = text.find(token, at);  // between English words are spaces
    to.push_back(
        {static_cast<int32_t>(own().id(token)), static_cast<uint32_t>(at), static_cast<uint32_t>(at + token.size())});
    at += token.size();
  }
}

std::string NumberWordsTokenizer::join(std::span<const int64_t> ids) const {
  const std::vector<std::string> words = tokens(ids);
  return language_ == Language::german ? join_german(words) : join_english(words);
}

std::vector<std::string> NumberWordsTokenizer::explain(std::string_view text) const {
  std::vector<Piece> pieces;
  split(text, pieces);
  std::string line = "tokens:";
  for (const Piece& piece : pieces)
    line += fmt::format(" {} ({})", clipped(text.substr(piece.begin, piece.end - piece.begin), 100), piece.id);
  return {fmt::format("text: {}", clipped(text, 1000)), line};
}

void NumberWordsTokenizer::save(const std::string& folder) const {
  make_folder(folder);
  vocabularies_->german.save(fmt::format("{}/src_vocab.txt", folder));
  vocabularies_->english.save(fmt::format("{}/tgt_vocab.txt", folder));
}

}  // namespace tape::text
