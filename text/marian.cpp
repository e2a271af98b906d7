#include "text/marian.h"

#include <filesystem>

#include "base/file.h"
#include "base/utf8.h"
#include "text/tokenizers/sentence_piece_model.h"
#include "text/tokenizers/vocabulary_json.h"

namespace tape::text {
namespace {

constexpr std::string_view kBlank = "\xE2\x96\x81";  // U+2581, a blank in a piece

TokenizerConfig config_of(const Marian::Parts& parts) {
  TokenizerConfig config;
  config.tokenizer_class = "MarianTokenizer";
  config.unk = parts.unk;
  config.eos = parts.eos;
  config.pad = parts.pad;
  return config;
}

// White space as Python's str.strip() takes it, of what may stand at the ends here.
std::string stripped(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\n\v\f\r");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t\n\v\f\r") + 1 - begin);
}

}  // namespace

Marian::Marian(std::string spm, std::shared_ptr<const TokenTable> table, const TokenizerConfig& config,
               const std::string& spm_file, const std::string& vocabulary_file)
    : model_(std::make_unique<SentencePieceModel>(std::move(spm), spm_file)),
      table_(std::move(table)),
      config_(config) {
  for (const std::string& name : {config.unk, config.eos, config.pad}) {
    const auto id = table_->find(name);
    if (!id) raise(ErrorKind::format, "{}: \"{}\" is not in the vocabulary", vocabulary_file, clipped(name, 40));
    added_.add({.content = name, .id = *id, .special = true}, name);
  }
  for (const AddedToken& token : config.added)
    if (table_->find(token.content) == token.id) added_.add(token, token.content);
  special_ = special_ids(config, *table_);
  const auto& processor = model_->processor();
  for (int id = 0; id < processor.GetPieceSize(); ++id)
    ids_.push_back(static_cast<int32_t>(table_->find(processor.IdToPiece(id)).value_or(special_.unk)));
  const Part eos{Part::Kind::special, special_.eos, 0};
  template_.single = {{Part::Kind::first}, eos};
  template_.pair = {{Part::Kind::first}, {Part::Kind::second}, eos};
}

Marian::~Marian() = default;

std::unique_ptr<Marian> Marian::make(Parts parts, const TokenizerConfig& config, const std::string& prefix) {
  const std::string vocabulary_file = fmt::format("{}vocab.json", prefix);
  const std::string target_file = fmt::format("{}target_vocab.json", prefix);
  const bool joint = parts.target_vocabulary.empty();
  auto table = std::make_shared<const TokenTable>(std::move(parts.vocabulary), TokenTable::Entries{}, vocabulary_file);
  auto target_table = joint ? table
                            : std::make_shared<const TokenTable>(std::move(parts.target_vocabulary),
                                                                 TokenTable::Entries{}, target_file);
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
  const std::string prefix = fmt::format("{}/", folder), target_file = fmt::format("{}target_vocab.json", prefix);
  Parts parts;
  const TokenizerConfig config = read_tokenizer_config(folder, config_of(parts));
  parts.source_spm = read_text(fmt::format("{}source.spm", prefix));
  parts.target_spm = read_text(fmt::format("{}target.spm", prefix));
  parts.vocabulary = read_vocabulary_json(fmt::format("{}vocab.json", prefix));
  if (std::filesystem::exists(target_file)) parts.target_vocabulary = read_vocabulary_json(target_file);
  return make(std::move(parts), config, prefix);
}

void Marian::split(std::string_view text, std::vector<Piece>& to) const {
  std::vector<AddedTokens::Part> parts;
  added_.split(text, parts);
  for (const AddedTokens::Part& part : parts) {
    if (part.id >= 0)
      to.push_back({static_cast<int32_t>(part.id), part.range.begin, part.range.end});
    else
      split_part(text.substr(part.range.begin, part.range.end - part.range.begin), part.range.begin, to);
  }
}

void Marian::split_part(std::string_view text, uint32_t at, std::vector<Piece>& to) const {
  if (text.starts_with(">>"))
    if (const size_t end = text.find("<<"); end != std::string_view::npos) {
      const auto length = static_cast<uint32_t>(end + 2);
      const auto id = table_->find(text.substr(0, length)).value_or(special_.unk);
      to.push_back({static_cast<int32_t>(id), at, at + length});
      text.remove_prefix(length);
      at += length;
    }
  const size_t before = to.size();
  const auto unknown = static_cast<uint32_t>(model_->processor().unk_id());
  // What this side's model does not know may still be a token, of the other side's.
  model_->split(text, to, [&](const auto& piece) -> int64_t {
    if (piece.id() == unknown) return table_->find(piece.piece()).value_or(special_.unk);
    return ids_[piece.id()];
  });
  for (size_t i = before; i < to.size(); ++i) {
    to[i].begin += at;
    to[i].end += at;
  }
}

std::string Marian::join(std::span<const int64_t> ids) const {
  std::string out;
  std::vector<std::string> pieces;
  const auto flush = [&] {
    out += model_->processor().DecodePieces(pieces);
    pieces.clear();
  };
  for (const int64_t id : ids) {
    if (!is_special(id)) {
      pieces.push_back(token(id));
      continue;
    }
    flush();
    out += fmt::format("{} ", token(id));
  }
  flush();
  // Pieces that the other side's model made come through as they are written.
  for (size_t at; (at = out.find(kBlank)) != std::string::npos;) out.replace(at, kBlank.size(), " ");
  return stripped(out);
}

std::vector<std::string> Marian::explain(std::string_view text) const {
  std::vector<std::string> lines{fmt::format("text: {}", clipped(text, 1000))};
  const auto pieces = model_->processor().EncodeAsImmutableProto(text);
  std::string line = "pieces:";
  for (const auto& piece : pieces.pieces()) line += fmt::format(" {}", clipped(piece.piece(), 100));
  lines.push_back(std::move(line));
  std::vector<Piece> found;
  split(text, found);
  line = "tokens:";
  for (const Piece& piece : found) line += fmt::format(" {} ({})", clipped(token(piece.id), 100), piece.id);
  lines.push_back(std::move(line));
  return lines;
}

void Marian::save(const std::string& folder) const {
  TokenizerConfig config = config_;
  const bool joint = !target_ || target_->table_ == table_;
  config.separate_vocabs = !joint;
  write_in_folder(folder, "source.spm", model_->bytes());
  write_in_folder(folder, "target.spm", target_ ? target_->model_->bytes() : model_->bytes());
  write_in_folder(folder, "vocab.json", vocabulary_json(*table_));
  if (!joint) write_in_folder(folder, "target_vocab.json", vocabulary_json(*target_->table_));
  write_in_folder(folder, "tokenizer_config.json", tokenizer_config_json(config));
}

}  // namespace tape::text
