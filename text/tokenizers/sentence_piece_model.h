#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sentencepiece_processor.h>

#include "../tokenizer.h"

namespace tape::text {

/// A loaded model and the content of its file.
class SentencePieceModel {
 public:
  /// Error (format) `where: ...` for content that is malformed.
  SentencePieceModel(std::string bytes, const std::string& where);

  const sentencepiece::SentencePieceProcessor& processor() const { return processor_; }
  const std::string& bytes() const { return bytes_; }
  bool is_bpe() const { return is_bpe_; }
  /// Appends the pieces of a text, with their places in it, and the ids that `id_of` gives each of the library's.
  template <class IdOf>
  void split(std::string_view text, std::vector<Piece>& to, IdOf&& id_of) const {
    const auto pieces = processor_.EncodeAsImmutableProto(text);
    const size_t count = pieces.pieces_size();
    for (size_t i = 0; i < count; ++i) {
      const auto piece = pieces.pieces(static_cast<int>(i));
      to.push_back({static_cast<int32_t>(id_of(piece)), piece.begin(), piece.end()});
    }
  }

 private:
  std::string bytes_;
  bool is_bpe_ = false;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace tape::text
