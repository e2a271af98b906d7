#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include <sentencepiece_processor.h>

#include "../tokenizer.h"

namespace tape::text {

/// A loaded model with the content of its file.
class SentencePieceModel {
 public:
  /// Throws Error (format) `where: ...` for malformed content.
  SentencePieceModel(std::string bytes, const std::string& where);

  const sentencepiece::SentencePieceProcessor& processor() const { return processor_; }
  const std::string& bytes() const { return bytes_; }
  bool is_bpe() const { return is_bpe_; }
  /// Appends the pieces of a text, with their offsets, and the ids that `id_of(id, piece)` maps the library's ids to.
  /// Adjacent unknown pieces are joined. Thread-safe.
  template <class IdOf>
  void split(std::string_view text, std::vector<Piece>& to, IdOf&& id_of) const {
    const auto& processor = has_long_run(text) ? for_long_runs() : processor_;
    const auto pieces = processor.EncodeAsImmutableProto(text);
    const size_t count = pieces.pieces_size();
    const auto known = static_cast<uint32_t>(processor_.GetPieceSize());
    const auto append = [&](uint32_t id, const std::string& piece, uint32_t begin, uint32_t end) {
      to.push_back({static_cast<int32_t>(id_of(id, piece)), begin, end});
    };
    std::string unknown;  // adjacent pieces that were output byte by byte
    uint32_t unknown_begin = 0;
    for (size_t i = 0; i < count; ++i) {
      const auto piece = pieces.pieces(static_cast<int>(i));
      if (piece.id() < known) {
        append(piece.id(), piece.piece(), piece.begin(), piece.end());
        continue;
      }
      if (unknown.empty()) unknown_begin = piece.begin();
      unknown += static_cast<char>(piece.id() - known);
      if (i + 1 < count && pieces.pieces(static_cast<int>(i + 1)).id() >= known) continue;
      append(static_cast<uint32_t>(processor_.unk_id()), unknown, unknown_begin, piece.end());
      unknown.clear();
    }
  }

 private:
  /// Whether a text has so many bytes without a space that unknown characters could become slow: the library joins them
  /// into one piece by repeated appending, in quadratic time.
  bool has_long_run(std::string_view text) const;
  /// A copy of the model with byte fallback, so that unknown characters are output byte by byte. The model itself if it
  /// already has such pieces.
  const sentencepiece::SentencePieceProcessor& for_long_runs() const;

  std::string bytes_;
  bool is_bpe_ = false;
  sentencepiece::SentencePieceProcessor processor_;
  mutable std::once_flag asked_;
  mutable std::unique_ptr<sentencepiece::SentencePieceProcessor> with_bytes_;
};

}  // namespace tape::text
