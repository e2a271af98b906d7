#include "text/tokenizers/fairseq.h"

#include <unordered_set>

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/tokenizers/folder/class_names.h"
#include "text/tokenizers/folder/language_kind.h"
#include "text/tokenizers/folder/vocabulary_json.h"
#include "text/tokenizers/steps/sentence_piece_model.h"

namespace tape::text {

namespace {

constexpr const char *kModelFile = "sentencepiece.bpe.model", *kClass = "M2M100Tokenizer";

std::shared_ptr<const TokenTable> make_token_table(const LanguageKind& kind, const TokenizerConfig& config,
                                                   const std::string& folder) {
  const std::string where = file_in_folder(folder, "vocab.json");
  TokenTable::Entries entries = read_vocabulary_json(where);
  std::unordered_set<std::string> known;
  for (const auto& [token, id] : entries) known.insert(token);
  auto next = static_cast<int64_t>(entries.size());
  // Later tokens have the ids in the configuration, or else the positions that the class gives them.
  TokenTable::Entries following;
  for (const AddedToken& token : config.added)
    if (known.insert(token.content).second) following.emplace_back(token.content, token.id);
  for (const std::string& token : kind.language_tokens(config)) {
    if (known.insert(token).second) following.emplace_back(token, next);
    ++next;
  }
  return std::make_shared<const TokenTable>(
      std::move(entries), [&](const TokenTable::Own&) { return following; }, where);
}

}  // namespace

bool Fairseq::knows(std::string_view tokenizer_class) { return tokenizer_class == kClass; }

Fairseq::Fairseq(const LanguageKind& kind, std::shared_ptr<const SentencePieceModel> model,
                 std::shared_ptr<const TokenTable> vocabulary, const TokenizerConfig& settings,
                 const std::string& language, const std::string& folder)
    : MappedSentencePiece(std::move(model), std::move(vocabulary), settings, fmt::format("{}/vocab.json", folder)) {
  const std::string where = fmt::format("{}/tokenizer_config.json", folder);
  for (const std::string& name : special_names(settings))
    if (!find(name)) raise(ErrorKind::format, "{}: the token \"{}\" has no id", where, clipped(name, 40));
  // Language tokens are matched in a text only if the configuration lists them.
  for (const std::string& token : kind.language_tokens(settings))
    if (const auto id = find(token)) mark_special(*id);
  language_ = kind.required_language(language, config(), table(), where);
  set_language_template(*language_, false);
}

std::unique_ptr<Fairseq> Fairseq::load(const std::string& folder, const Languages& languages) {
  const LanguageKind& kind = *language_kind_of(kClass);
  TokenizerConfig config = read_tokenizer_config(folder, class_names(kClass));
  config.tokenizer_class = kClass;
  choose(config, languages);
  if (!config.language_codes.empty() && config.language_codes != "m2m100" && config.language_codes != "wmt21")
    raise(ErrorKind::format, "{}/tokenizer_config.json: language_codes: must be m2m100 or wmt21, got \"{}\"", folder,
          clipped(config.language_codes, 40));
  const std::string file = file_in_folder(folder, kModelFile);
  const auto model = std::make_shared<const SentencePieceModel>(read_text(file), file);
  const auto table = make_token_table(kind, config, folder);
  const auto side = [&](const std::string& language) {
    return std::unique_ptr<Fairseq>(new Fairseq(kind, model, table, config, language, folder));
  };
  std::unique_ptr<Fairseq> source = side(kind.source_of(config));
  if (!config.tgt_lang.empty()) source->target_ = side(config.tgt_lang);
  return source;
}

void Fairseq::save(const std::string& folder) const {
  write_in_folder(folder, kModelFile, model()->bytes());
  write_in_folder(folder, "vocab.json", vocabulary_json(table()));
  write_tokenizer_config(folder, config());
}

}  // namespace tape::text
