#include "text/tokenizers/sentence_piece_model.h"

#include <exception>

#include "base/error.h"
#include "text/tokenizers/sentence_piece_check.h"

namespace tape::text {

SentencePieceModel::SentencePieceModel(std::string bytes, const std::string& where) : bytes_(std::move(bytes)) {
  is_bpe_ = check_sentence_piece(bytes_, where).is_bpe;
  std::string refusal;
  try {
    const auto status = processor_.LoadFromSerializedProto(bytes_);
    if (!status.ok()) refusal = status.ToString();
  } catch (const std::exception& error) {  // its trie throws
    refusal = error.what();
  }
  if (!refusal.empty()) raise(ErrorKind::format, "{}: sentencepiece refuses it: {}", where, refusal);
}

}  // namespace tape::text
