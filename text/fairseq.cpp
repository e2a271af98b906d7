#include "text/fairseq.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/tokenizers/language_kind.h"
#include "text/tokenizers/sentence_piece_model.h"
#include "text/tokenizers/vocabulary_json.h"

namespace tape::text {

namespace {

constexpr const char* kModelFile = "sentencepiece.bpe.model";

}  // namespace

bool Fairseq::knows(std::string_view tokenizer_class) { return language_kind_of(tokenizer_class) != nullptr; }

TokenTable::Entries Fairseq::aligned_vocabulary(const SentencePieceModel& model, const std::string& where) {
  constexpr std::array<const char*, 3> kFirst{"<unk>", "<s>", "</s>"};
  const auto& processor = model.processor();
  for (int i = 0; i < 3; ++i)
    if (i >= processor.GetPieceSize() || processor.IdToPiece(i) != kFirst[static_cast<size_t>(i)])
      raise(ErrorKind::format, "{}: piece {} must be {}, as in fairseq's models", where, i,
            kFirst[static_cast<size_t>(i)]);
  TokenTable::Entries out{{"<s>", 0}, {"<pad>", 1}, {"</s>", 2}, {"<unk>", 3}};
  for (int i = 3; i < processor.GetPieceSize(); ++i) out.emplace_back(processor.IdToPiece(i), i + 1);
  return out;
}

std::shared_ptr<const TokenTable> Fairseq::table_of(const LanguageKind& kind, const SentencePieceModel& model,
                                                    const TokenizerConfig& config, const std::string& folder) {
  const std::string where = file_in_folder(folder, kind.own_ids ? "vocab.json" : kModelFile);
  TokenTable::Entries entries = kind.own_ids ? read_vocabulary_json(where) : aligned_vocabulary(model, where);
  std::unordered_set<std::string> known;
  for (const auto& [token, id] : entries) known.insert(token);
  const auto size = static_cast<int64_t>(entries.size());
  // What follows has the ids that the configuration gives, else the places that the class has for it.
  TokenTable::Entries following;
  for (const AddedToken& token : config.added)
    if (known.insert(token.content).second) following.emplace_back(token.content, token.id);
  int64_t next = size;
  for (const std::string& token : kind.language_tokens(config)) {
    if (known.insert(token).second) following.emplace_back(token, next);
    ++next;
  }
  if (kind.masked && known.insert(config.mask).second) following.emplace_back(config.mask, next);
  return std::make_shared<const TokenTable>(
      std::move(entries), [&](const TokenTable::Own&) { return following; }, where);
}

Fairseq::Fairseq(const LanguageKind& kind, std::shared_ptr<const SentencePieceModel> model,
                 std::shared_ptr<const TokenTable> vocabulary, const TokenizerConfig& settings,
                 const std::string& language, const std::string& folder)
    : MappedSentencePiece(std::move(model), std::move(vocabulary), settings,
                          fmt::format("{}/{}", folder, kind.own_ids ? "vocab.json" : kModelFile)) {
  const std::string where = fmt::format("{}/tokenizer_config.json", folder);
  for (const std::string& name : special_names(settings))
    if (!find(name)) raise(ErrorKind::format, "{}: the token \"{}\" has no id", where, clipped(name, 40));
  std::unordered_set<std::string> listed;
  for (const AddedToken& token : settings.added) listed.insert(token.content);
  for (AddedToken token : added_tokens(settings, table())) {
    if (!listed.contains(token.content) && token.content == settings.mask) token.lstrip = true;
    add_token(token, where);
  }
  for (const std::string& token : kind.language_tokens(settings)) {
    const auto id = find(token);
    if (!id) continue;
    mark_special(*id);
    // M2M100's are cut out of a text only where the configuration lists them.
    if (!kind.marked && !listed.contains(token)) add_token({.content = token, .id = *id, .special = true}, where);
  }
  surround(kind, language, where);
}

void Fairseq::surround(const LanguageKind& kind, const std::string& language, const std::string& where) {
  const auto special = [](int64_t id) { return Part{Part::Kind::special, id, 0}; };
  const Part first{Part::Kind::first}, second{Part::Kind::second};
  if (kind.source.empty()) {
    if (special_.cls < 0 || special_.sep < 0)
      raise(ErrorKind::format, "{}: a start and an end token (cls_token, sep_token) are needed", where);
    const Part cls = special(special_.cls), sep = special(special_.sep);
    template_.single = {cls, first, sep};
    template_.pair = {cls, first, sep, sep, second, sep};
    return;
  }
  language_ = kind.required_language(language, config(), table(), where);
  if (!is_special(*language_))
    raise(ErrorKind::format, "{}: the language \"{}\" is no special token (as in added_tokens_decoder)", where,
          clipped(language, 40));
  language_begins_ = kind.language_begins;
  surround_with_language(*language_, kind.language_behind || config().legacy_behaviour.value_or(false));
}

std::unique_ptr<Fairseq> Fairseq::load(const std::string& folder, const Languages& languages) {
  TokenizerConfig names;
  names.bos = names.cls = "<s>";
  names.eos = names.sep = "</s>";
  names.unk = "<unk>";
  names.pad = "<pad>";
  const std::string where = fmt::format("{}/tokenizer_config.json", folder);
  const LanguageKind* kind = language_kind_of(read_tokenizer_config(folder, names).tokenizer_class);
  if (kind == nullptr) raise(ErrorKind::format, "{}: tokenizer_class is none of fairseq's models", where);
  if (kind->masked) names.mask = "<mask>";
  if (kind->own_ids) names.cls = "";
  TokenizerConfig config = read_tokenizer_config(folder, names);
  choose(config, languages);
  if (!config.language_codes.empty() && config.language_codes != "m2m100" && config.language_codes != "wmt21")
    raise(ErrorKind::format, "{}: language_codes: must be m2m100 or wmt21, got \"{}\"", where,
          clipped(config.language_codes, 40));
  const std::string file = file_in_folder(folder, kModelFile);
  const auto model = std::make_shared<const SentencePieceModel>(read_text(file), file);
  const auto table = table_of(*kind, *model, config, folder);
  const auto side = [&](const std::string& language) {
    return std::unique_ptr<Fairseq>(new Fairseq(*kind, model, table, config, language, folder));
  };
  std::unique_ptr<Fairseq> source = side(kind->source_of(config));
  if (!kind->source.empty() && !config.tgt_lang.empty()) source->target_ = side(config.tgt_lang);
  return source;
}

void Fairseq::save(const std::string& folder) const {
  write_in_folder(folder, kModelFile, model()->bytes());
  if (language_kind_of(config().tokenizer_class)->own_ids)
    write_in_folder(folder, "vocab.json", vocabulary_json(table()));
  write_in_folder(folder, "tokenizer_config.json", tokenizer_config_json(config()));
}

}  // namespace tape::text
