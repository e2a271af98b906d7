#include "text/tokenizers/sentence_piece_model.h"

#include "autograd/error.h"
#include "text/tokenizers/sentence_piece_check.h"

namespace tape::text {

SentencePieceModel::SentencePieceModel(std::string bytes, const std::string& where) : bytes_(std::move(bytes)) {
  is_bpe_ = check_sentence_piece(bytes_, where).is_bpe;
  const auto status = processor_.LoadFromSerializedProto(bytes_);
  if (!status.ok()) raise(ErrorKind::format, "{}: sentencepiece refuses it: {}", where, status.ToString());
}

void SentencePieceModel::split(std::string_view text, std::vector<Piece>& to) const {
  const auto pieces = processor_.EncodeAsImmutableProto(text);
  const size_t count = pieces.pieces_size();
  for (size_t i = 0; i < count; ++i) {
    const auto piece = pieces.pieces(static_cast<int>(i));
    to.push_back({static_cast<int32_t>(piece.id()), piece.begin(), piece.end()});
  }
}

}  // namespace tape::text
