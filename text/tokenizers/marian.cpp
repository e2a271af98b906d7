#include "text/tokenizers/marian.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "text/tokenizers/folder/vocabulary_json.h"
#include "text/tokenizers/steps/sentence_piece_model.h"

namespace tape::text {
namespace {

TokenizerConfig config_of(const Marian::Parts& parts) {
  TokenizerConfig config;
  config.tokenizer_class = "MarianTokenizer";
  config.unk = parts.unk;
  config.eos = parts.eos;
  config.pad = parts.pad;
  return config;
}

}  // namespace

Marian::Marian(std::string spm, std::shared_ptr<const TokenTable> table, const TokenizerConfig& config,
               const std::string& spm_file, const std::string& vocabulary_file)
    : MappedSentencePiece(std::make_shared<const SentencePieceModel>(std::move(spm), spm_file), std::move(table),
                          config, vocabulary_file) {
  const Part eos{Part::Kind::special, special_.eos, 0};
  template_.single = {{Part::Kind::first}, eos};
  template_.pair = {{Part::Kind::first}, {Part::Kind::second}, eos};
}

std::unique_ptr<Marian> Marian::make(Parts parts, const TokenizerConfig& config, const std::string& prefix) {
  const std::string vocabulary_file = fmt::format("{}vocab.json", prefix);
  const std::string target_file = fmt::format("{}target_vocab.json", prefix);
  const bool joint = parts.target_vocabulary.empty();
  auto table =
      std::make_shared<const TokenTable>(std::move(parts.vocabulary), TokenTable::ExtraTokens(), vocabulary_file);
  auto target_table = joint ? table
                            : std::make_shared<const TokenTable>(std::move(parts.target_vocabulary),
                                                                 TokenTable::ExtraTokens(), target_file);
  auto target =
      std::unique_ptr<Marian>(new Marian(std::move(parts.target_spm), std::move(target_table), config,
                                         fmt::format("{}target.spm", prefix), joint ? vocabulary_file : target_file));
  auto source = std::unique_ptr<Marian>(new Marian(std::move(parts.source_spm), std::move(table), config,
                                                   fmt::format("{}source.spm", prefix), vocabulary_file));
  source->target_ = std::move(target);
  return source;
}

std::unique_ptr<Marian> Marian::from_parts(Parts parts) {
  const TokenizerConfig config = config_of(parts);
  return make(std::move(parts), config, "Marian: ");
}

std::unique_ptr<Marian> Marian::load(const std::string& folder) {
  const std::string prefix = fmt::format("{}/", folder), target_file = file_in_folder(folder, "target_vocab.json");
  Parts parts;
  const TokenizerConfig config = read_tokenizer_config(folder, config_of(parts));
  parts.source_spm = read_text(file_in_folder(folder, "source.spm"));
  parts.target_spm =
      folder_has(folder, "target.spm") ? read_text(file_in_folder(folder, "target.spm")) : parts.source_spm;
  parts.vocabulary = read_vocabulary_json(file_in_folder(folder, "vocab.json"));
  if (path_exists(target_file)) parts.target_vocabulary = read_vocabulary_json(target_file);
  return make(std::move(parts), config, prefix);
}

void Marian::split_part(std::string_view text, uint32_t at, std::vector<Piece>& to) const {
  if (text.starts_with(">>"))
    if (const size_t end = text.find("<<"); end != std::string_view::npos) {
      const auto length = static_cast<uint32_t>(end + 2);
      const auto id = find(text.substr(0, length)).value_or(special_.unk);
      to.push_back({static_cast<int32_t>(id), at, at + length});
      text.remove_prefix(length);
      at += length;
    }
  MappedSentencePiece::split_part(text, at, to);
}

void Marian::save(const std::string& folder) const {
  TokenizerConfig saved = config();
  const bool joint = !target_ || &target_->table() == &table();
  saved.separate_vocabs = !joint;
  write_in_folder(folder, "source.spm", model()->bytes());
  write_in_folder(folder, "target.spm", target().model()->bytes());
  write_in_folder(folder, "vocab.json", vocabulary_json(table()));
  if (!joint) write_in_folder(folder, "target_vocab.json", vocabulary_json(target_->table()));
  write_tokenizer_config(folder, saved);
}

}  // namespace tape::text
