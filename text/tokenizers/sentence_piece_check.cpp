#include "text/tokenizers/sentence_piece_check.h"

#include <cmath>
#include <cstring>
#include <vector>

#include "base/error.h"

namespace tape::text {
namespace {

constexpr size_t kLongestPiece = 10'000;

/// One field of a protocol buffer message.
struct Field {
  uint64_t number;
  int type;               // wire type: 0 number, 1 eight bytes, 2 bytes, 5 four bytes
  uint64_t value = 0;     // of type 0
  std::string_view data;  // of the others
};

/// Reads the fields of a message, one after the other.
class Message {
 public:
  Message(std::string_view bytes, std::string where) : rest_(bytes), size_(bytes.size()), where_(std::move(where)) {}

  bool done() const { return rest_.empty(); }
  [[noreturn]] void fail(const std::string& what) const {
    raise(ErrorKind::format, "{}: {} (byte {})", where_, what, size_ - rest_.size());
  }

  Field next() {
    const uint64_t tag = number();
    Field field{.number = tag >> 3, .type = static_cast<int>(tag & 7), .data = {}};
    if (field.number == 0) fail("not a sentencepiece model");
    switch (field.type) {
      case 0:
        field.value = number();
        break;
      case 1:
        field.data = take(8);
        break;
      case 2:
        field.data = take(number());
        break;
      case 5:
        field.data = take(4);
        break;
      default:
        fail("not a sentencepiece model");
    }
    return field;
  }

 private:
  uint64_t number() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1)[0]);
      value |= uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    fail("a number does not end");
  }
  std::string_view take(uint64_t bytes) {
    if (bytes > rest_.size()) fail(fmt::format("{} bytes are needed, {} are left", bytes, rest_.size()));
    const std::string_view taken = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return taken;
  }

  std::string_view rest_;
  size_t size_;
  std::string where_;
};

SentencePieceEntry check_piece(std::string_view bytes, const std::string& where, bool take) {
  size_t name = 0;
  SentencePieceEntry entry;
  for (Message message(bytes, where); !message.done();) {
    const Field field = message.next();
    if (field.number == 1 && field.type == 2) {
      name = field.data.size();
      if (take) entry.name = field.data;
      if (field.data.find('\0') != std::string_view::npos) message.fail("the piece holds a NUL byte");
    }
    if (field.number == 2 && field.type == 5) {
      float score;
      std::memcpy(&score, field.data.data(), sizeof score);
      if (!std::isfinite(score)) message.fail("the score is not finite");
      entry.score = score;
    }
    if (field.number == 3 && field.type == 0) entry.type = static_cast<int>(field.value);
  }
  if (name == 0) raise(ErrorKind::format, "{}: the piece is empty", where);
  if (name > kLongestPiece)
    raise(ErrorKind::format, "{}: the piece has {} bytes, at most {} are allowed", where, name, kLongestPiece);
  return entry;
}

/// The layout that Normalizer::Init of the library believes without a check: the trie's size, its units (darts-clone),
/// and the texts behind it.
void check_character_map(std::string_view blob, const std::string& where) {
  if (blob.empty()) return;
  const auto fail = [&where](const char* what) { raise(ErrorKind::format, "{}: character map: {}", where, what); };
  const auto unit = [&blob](size_t i) {
    uint32_t value;
    std::memcpy(&value, blob.data() + 4 * i, sizeof value);
    return value;
  };
  if (blob.size() < 4) fail("it is too short");
  const size_t bytes = unit(0);
  if (bytes % 4 != 0 || bytes == 0 || bytes > blob.size() - 4) fail("the trie does not fit");
  const size_t units = bytes / 4, texts = blob.size() - 4 - bytes;
  if (texts == 0 || blob.back() != '\0') fail("the last text does not end");
  for (size_t i = 0; i < units; ++i) {
    const uint32_t value = unit(1 + i);
    if (value >> 31) {
      if ((value & 0x7FFFFFFF) >= texts) fail("an entry points behind the texts");
    } else if (value != 0) {
      const size_t offset = static_cast<size_t>(value >> 10) << ((value & (1u << 9)) >> 6);
      if (((i ^ offset) | 0xFF) >= units) fail("a branch leads out of the trie");
      // What a key ends in is read as an entry, marked as one or not.
      const bool ends = ((value >> 8) & 1) == 1;
      if (ends && (unit(1 + (i ^ offset)) & 0x7FFFFFFF) >= texts) fail("an entry points behind the texts");
    }
  }
}

SentencePieceFacts check(std::string_view bytes, const std::string& where, SentencePieceTable* table) {
  SentencePieceFacts facts;
  for (Message model(bytes, where); !model.done();) {
    const Field field = model.next();
    if (field.type != 2) continue;
    if (field.number == 1) {
      SentencePieceEntry piece =
          check_piece(field.data, fmt::format("{}: piece {}", where, facts.pieces++), table != nullptr);
      if (table != nullptr) table->pieces.push_back(std::move(piece));
    }
    if (field.number == 2)
      for (Message trainer(field.data, where); !trainer.done();) {
        const Field option = trainer.next();
        if (option.number == 3 && option.type == 0) facts.is_bpe = option.value == 2;  // model_type
      }
    if (field.number == 3 || field.number == 5)
      for (Message normalizer(field.data, where); !normalizer.done();) {
        const Field option = normalizer.next();
        if (option.number != 2 || option.type != 2) continue;
        check_character_map(option.data, where);
        if (table != nullptr && field.number == 3) table->character_map = option.data;
      }
  }
  if (facts.pieces == 0) raise(ErrorKind::format, "{}: holds no pieces", where);
  return facts;
}

}  // namespace

SentencePieceFacts check_sentence_piece(std::string_view bytes, const std::string& where) {
  return check(bytes, where, nullptr);
}

SentencePieceTable read_sentence_piece(std::string_view bytes, const std::string& where) {
  SentencePieceTable table;
  check(bytes, where, &table);
  return table;
}

}  // namespace tape::text
