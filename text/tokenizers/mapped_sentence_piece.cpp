#include "text/tokenizers/mapped_sentence_piece.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "text/tokenizers/steps/decoder.h"
#include "text/tokenizers/steps/sentence_piece_model.h"

namespace tape::text {

MappedSentencePiece::MappedSentencePiece(std::shared_ptr<const SentencePieceModel> model,
                                         std::shared_ptr<const TokenTable> table, TokenizerConfig config,
                                         const std::string& where)
    : TableTokenizer(std::move(table)), model_(std::move(model)), config_(std::move(config)) {
  for (const std::string& name : {config_.unk, config_.eos, config_.pad})
    if (!this->table().find(name))
      raise(ErrorKind::format, "{}: \"{}\" is not in the vocabulary", where, clipped(name, 40));
  special_ = special_ids(config_, this->table());
  for (const AddedToken& token : added_tokens(config_, this->table())) {
    added_.add(token, token.content);
    if (token.special) mark_special(token.id);
  }
  const auto& processor = model_->processor();
  for (int id = 0; id < processor.GetPieceSize(); ++id)
    ids_.push_back(static_cast<int32_t>(this->table().find(processor.IdToPiece(id)).value_or(special_.unk)));
}

MappedSentencePiece::~MappedSentencePiece() = default;

void MappedSentencePiece::split(std::string_view text, std::vector<Piece>& to) const {
  std::vector<AddedTokens::Part> parts;
  added_.split(text, parts);
  for (const AddedTokens::Part& part : parts) {
    if (part.id >= 0)
      to.push_back({static_cast<int32_t>(part.id), part.range.begin, part.range.end});
    else
      split_part(text.substr(part.range.begin, part.range.end - part.range.begin), part.range.begin, to);
  }
}

void MappedSentencePiece::split_part(std::string_view text, uint32_t at, std::vector<Piece>& to) const {
  const size_t before = to.size();
  const auto unknown = static_cast<uint32_t>(model_->processor().unk_id());
  // A token that this model does not have may still be one of the other side's model.
  model_->split(text, to, [&](uint32_t id, const std::string& piece) -> int64_t {
    return id == unknown ? table().find(piece).value_or(special_.unk) : ids_[id];
  });
  for (size_t i = before; i < to.size(); ++i) {
    to[i].begin += at;
    to[i].end += at;
  }
}

std::string MappedSentencePiece::join(std::span<const int64_t> ids) const {
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
  // Pieces of the other side's model are output verbatim.
  // Strips white space like Python's str.strip(), as far as it can occur at the ends here.
  out = trimmed(replaced(out, "\xE2\x96\x81", " "), " \t\n\v\f\r");
  return config_.clean_up_tokenization_spaces.value_or(false) ? cleaned_up(std::move(out)) : out;
}

std::vector<std::string> MappedSentencePiece::explain(std::string_view text) const {
  std::vector<std::string> lines{fmt::format("text: {}", clipped(text, 1000))};
  std::string line = "pieces:";
  std::vector<Piece> found;
  model_->split(text, found, [&line](uint32_t id, const std::string& piece) {
    line += fmt::format(" {}", clipped(piece, 100));
    return id;
  });
  lines.push_back(std::move(line));
  found.clear();
  split(text, found);
  line = "tokens:";
  for (const Piece& piece : found) line += fmt::format(" {} ({})", clipped(token(piece.id), 100), piece.id);
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace tape::text
