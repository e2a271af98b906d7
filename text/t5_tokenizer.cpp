#include "text/t5_tokenizer.h"

#include <unordered_set>

#include "base/file.h"
#include "text/tokenizers/sentence_piece_model.h"

namespace tape::text {
namespace {

constexpr int64_t kMostExtraIds = 100'000;

std::string settings_file(const std::string& folder) { return fmt::format("{}/tokenizer_config.json", folder); }

TokenizerConfig config_of(const std::string& folder) {
  TokenizerConfig names;
  names.eos = "</s>";
  names.unk = "<unk>";
  names.pad = "<pad>";
  TokenizerConfig config = read_tokenizer_config(folder, names);
  if (!config.extra_ids) config.extra_ids = T5Tokenizer::kExtraIds;
  if (*config.extra_ids < 0 || *config.extra_ids > kMostExtraIds)
    raise(ErrorKind::format, "{}: extra_ids: must be from 0 to {}, got {}", settings_file(folder), kMostExtraIds,
          *config.extra_ids);
  return config;
}

/// The pieces, the tokens to which the configuration gives ids, and the sentinels that are not among them.
std::shared_ptr<const TokenTable> t5_table(const SentencePieceModel& model, const TokenizerConfig& config,
                                           const std::string& where) {
  const int count = model.processor().GetPieceSize();
  std::vector<std::string> pieces;
  pieces.reserve(static_cast<size_t>(count));
  for (int id = 0; id < count; ++id) pieces.push_back(model.processor().IdToPiece(id));
  std::unordered_set<std::string> known(pieces.begin(), pieces.end());
  const int64_t size = std::ssize(pieces), extra = *config.extra_ids;
  TokenTable::Entries following;
  for (const AddedToken& token : config.added)
    if (known.insert(token.content).second) following.emplace_back(token.content, token.id);
  for (int64_t i = 0; i < extra; ++i)
    if (std::string token = fmt::format("<extra_id_{}>", i); known.insert(token).second)
      following.emplace_back(std::move(token), size + extra - 1 - i);
  int64_t next = size + std::ssize(following);
  for (const std::string& name : special_names(config))
    if (known.insert(name).second) following.emplace_back(name, next++);
  return std::make_shared<const TokenTable>(
      TokenTable::numbered(std::move(pieces)), [&](const TokenTable::Own&) { return following; }, where);
}

}  // namespace

T5Tokenizer::T5Tokenizer(std::shared_ptr<const SentencePieceModel> model, std::shared_ptr<const TokenTable> table,
                         const TokenizerConfig& config, const std::string& folder)
    : MappedSentencePiece(std::move(model), std::move(table), config, settings_file(folder)) {
  std::unordered_set<std::string> listed;
  for (const AddedToken& token : added_tokens(config, this->table())) {
    listed.insert(token.content);
    add_token(token, settings_file(folder));
  }
  for (int64_t i = 0; i < *config.extra_ids; ++i)
    if (const std::string token = fmt::format("<extra_id_{}>", i); listed.insert(token).second)
      add_token({.content = token, .id = *find(token), .special = true}, settings_file(folder));
  const Part first{Part::Kind::first}, second{Part::Kind::second}, eos{Part::Kind::special, special_.eos, 0};
  template_.single = {first, eos};
  template_.pair = {first, eos, second, eos};
}

std::unique_ptr<T5Tokenizer> T5Tokenizer::load(const std::string& folder, const std::string& file) {
  const TokenizerConfig config = config_of(folder);
  const auto model = std::make_shared<const SentencePieceModel>(read_text(file), file);
  return std::unique_ptr<T5Tokenizer>(new T5Tokenizer(model, t5_table(*model, config, file), config, folder));
}

void T5Tokenizer::save(const std::string& folder) const {
  write_in_folder(folder, "spiece.model", model()->bytes());
  TokenizerConfig settings = config();
  settings.tokenizer_class = "T5Tokenizer";
  write_in_folder(folder, "tokenizer_config.json", tokenizer_config_json(settings));
}

}  // namespace tape::text
