#include "text/tokenizers/steps/sentence_piece_check.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "base/protobuf.h"

namespace tape::text {
namespace {

constexpr size_t kLongestPiece = 10'000;

/// A reader for a message of the model file.
ProtobufReader fields_of(std::string_view message, const std::string& where) {
  return {message, where, "not a sentencepiece model"};
}

SentencePieceEntry piece_of(std::string_view bytes, const std::string& where) {
  SentencePieceEntry entry;
  for (ProtobufReader piece = fields_of(bytes, where); !piece.done();) {
    const ProtobufField field = piece.next();
    if (field.is_bytes(1)) {
      entry.name = field.bytes;
      if (field.bytes.find('\0') != std::string_view::npos) piece.fail("the piece contains a NUL byte");
    }
    if (field.is_float(2)) {
      entry.score = field.as_float();
      if (!std::isfinite(entry.score)) piece.fail("the score is not finite");
    }
    if (field.is_number(3)) entry.type = static_cast<int>(field.number);
  }
  if (entry.name.empty()) raise(ErrorKind::format, "{}: the piece is empty", where);
  if (entry.name.size() > kLongestPiece)
    raise(ErrorKind::format, "{}: the piece has {} bytes, at most {} are allowed", where, entry.name.size(),
          kLongestPiece);
  return entry;
}

/// Checks the layout that the library's Normalizer::Init trusts: the size of the trie, its units (darts-clone), and the
/// strings after it.
void check_character_map(std::string_view blob, const std::string& where) {
  if (blob.empty()) return;
  const auto fail = [&where](const char* what) { raise(ErrorKind::format, "{}: character map: {}", where, what); };
  const auto unit = [&blob](size_t i) {
    uint32_t value;
    std::memcpy(&value, blob.data() + 4 * i, sizeof value);
    return value;
  };
  if (blob.size() < 4) fail("too short");
  const size_t bytes = unit(0);
  if (bytes % 4 != 0 || bytes == 0 || bytes > blob.size() - 4) fail("the trie does not fit");
  const size_t units = bytes / 4, texts = blob.size() - 4 - bytes;
  if (texts == 0 || blob.back() != '\0') fail("the last string is not terminated");
  for (size_t i = 0; i < units; ++i) {
    const uint32_t value = unit(1 + i);
    if (value >> 31) {
      if ((value & 0x7FFFFFFF) >= texts) fail("an entry points past the strings");
    } else if (value != 0) {
      const size_t offset = static_cast<size_t>(value >> 10) << ((value & (1u << 9)) >> 6);
      if (((i ^ offset) | 0xFF) >= units) fail("a branch leads out of the trie");
      // The library reads the end of a key as an entry, whether marked as one or not.
      const bool ends = ((value >> 8) & 1) == 1;
      if (ends && (unit(1 + (i ^ offset)) & 0x7FFFFFFF) >= texts) fail("an entry points past the strings");
    }
  }
}

}  // namespace

SentencePieceTable read_sentence_piece(std::string_view bytes, const std::string& where) {
  SentencePieceTable table;
  for (ProtobufReader model = fields_of(bytes, where); !model.done();) {
    const ProtobufField field = model.next();
    if (field.is_bytes(1))
      table.pieces.push_back(piece_of(field.bytes, fmt::format("{}: piece {}", where, table.pieces.size())));
    if (field.is_bytes(2))
      for (ProtobufReader trainer = fields_of(field.bytes, where); !trainer.done();) {
        const ProtobufField option = trainer.next();
        if (option.is_number(3)) table.is_bpe = option.number == 2;  // model_type
      }
    if (field.is_bytes(3) || field.is_bytes(5))
      for (ProtobufReader normalizer = fields_of(field.bytes, where); !normalizer.done();) {
        const ProtobufField option = normalizer.next();
        if (!option.is_bytes(2)) continue;
        check_character_map(option.bytes, where);
        if (field.field == 3) table.character_map = option.bytes;
      }
  }
  if (table.pieces.empty()) raise(ErrorKind::format, "{}: no pieces", where);
  return table;
}

}  // namespace tape::text
