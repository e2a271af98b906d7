#include "text/corpus/token_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/number_text.h"

namespace tape::text {
namespace {

static_assert(std::endian::native == std::endian::little, "ids are copied as they are");

template <class Id>
void widen(const char* from, std::span<int64_t> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    Id id;
    std::memcpy(&id, from + i * sizeof id, sizeof id);
    to[i] = id;
  }
}

template <class Id>
void narrow(std::span<const int64_t> ids, std::string& to) {
  for (const int64_t wide : ids) {
    const auto id = static_cast<Id>(wide);
    to.append(reinterpret_cast<const char*>(&id), sizeof id);
  }
}

}  // namespace

int64_t token_bytes(int64_t vocab_size) { return vocab_size > 65'536 ? 4 : 2; }

TokenFile::TokenFile(const std::string& file, int64_t vocab_size)
    : file_(file), vocab_size_(vocab_size), width_(token_bytes(vocab_size)), size_(file_.size() / width_) {
  if (file_.size() % width_ != 0)
    raise(ErrorKind::format,
          "{}: file size of {} is not a multiple of the token size: a vocabulary of {} needs {} bytes per token", file,
          counted(file_.size(), "byte"), grouped(vocab_size), width_);
}

std::vector<int64_t> TokenFile::read(int64_t first, int64_t count) const {
  TAPE_ASSERT(first >= 0 && count >= 0 && count <= size_ - first);
  std::string bytes(static_cast<size_t>(count * width_), '\0');
  file_.read(first * width_, bytes.data(), count * width_);
  std::vector<int64_t> ids(static_cast<size_t>(count));
  if (width_ == 2)
    widen<uint16_t>(bytes.data(), ids);
  else
    widen<uint32_t>(bytes.data(), ids);
  return ids;
}

void TokenFile::check() const {
  constexpr int64_t kBlock = 1 << 16;
  for (int64_t first = 0; first < size_; first += kBlock) {
    const std::vector<int64_t> ids = read(first, std::min(kBlock, size_ - first));
    const auto broken = std::ranges::find_if(ids, [this](int64_t id) { return id >= vocab_size_; });
    if (broken != ids.end())
      raise(ErrorKind::format, "{}: token {} (byte {}) is {}, but the vocabulary has {}", file(),
            first + (broken - ids.begin()), (first + (broken - ids.begin())) * width_, *broken,
            counted(vocab_size_, "token"));
  }
}

void write_token_file(const std::string& file, int64_t vocab_size,
                      const std::function<void(const TokenWriter& write)>& give) {
  write_file(file, [&](const Writer& write) {
    give([&](std::span<const int64_t> ids) {
      std::string bytes;
      bytes.reserve(ids.size() * static_cast<size_t>(token_bytes(vocab_size)));
      for (const int64_t id : ids) TAPE_ASSERT(id >= 0 && id < vocab_size);
      if (token_bytes(vocab_size) == 2)
        narrow<uint16_t>(ids, bytes);
      else
        narrow<uint32_t>(ids, bytes);
      write(bytes);
    });
  });
}

}  // namespace tape::text
