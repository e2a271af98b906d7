#include "text/tokenizers/steps/sentence_piece_model.h"

#include <exception>
#include <new>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "text/tokenizers/steps/sentence_piece_check.h"

namespace tape::text {
namespace {

/// Fields to append to a serialized model to enable byte fallback: 256 pieces <0x00> to <0xFF> of type BYTE (field 1 of
/// the model: name, type), which no split uses otherwise, and the trainer's byte_fallback (field 2, in it 35).
std::string byte_pieces() {
  std::string fields;
  for (int byte = 0; byte < 256; ++byte) fields += fmt::format("\x0A\x0A\x0A\x06<0x{:02X}>\x18\x06", byte);
  return fields + "\x12\x03\x98\x02\x01";
}

}  // namespace

SentencePieceModel::SentencePieceModel(std::string bytes, const std::string& where) : bytes_(std::move(bytes)) {
  is_bpe_ = read_sentence_piece(bytes_, where).is_bpe;
  std::string refusal;
  try {
    const auto status = processor_.LoadFromSerializedProto(bytes_);
    if (!status.ok()) refusal = status.ToString();
  } catch (const std::exception& error) {
    // The library's trie throws, also an exception of its own for out of memory, whose text ends with that name.
    if (std::string_view(error.what()).ends_with("std::bad_alloc")) throw std::bad_alloc();
    refusal = error.what();
  }
  if (!refusal.empty()) raise(ErrorKind::format, "{}: rejected by sentencepiece: {}", where, refusal);
}

bool SentencePieceModel::has_long_run(std::string_view text) const {
  constexpr size_t kShort = 512;
  if (text.size() <= kShort) return false;
  const bool blanks_are_known = processor_.PieceToId("\xE2\x96\x81") != processor_.unk_id();
  while (text.size() > kShort) {
    const size_t blank = blanks_are_known ? text.find(' ') : text.npos;
    if (blank > kShort) return true;
    text.remove_prefix(blank + 1);
  }
  return false;
}

const sentencepiece::SentencePieceProcessor& SentencePieceModel::for_long_runs() const {
  std::call_once(asked_, [this] {
    auto with_bytes = std::make_unique<sentencepiece::SentencePieceProcessor>();
    // The library rejects names that exist already.
    if (with_bytes->LoadFromSerializedProto(bytes_ + byte_pieces()).ok()) with_bytes_ = std::move(with_bytes);
  });
  return with_bytes_ ? *with_bytes_ : processor_;
}

}  // namespace tape::text
