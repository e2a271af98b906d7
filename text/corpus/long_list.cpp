#include "text/corpus/long_list.h"

#include "base/error.h"

namespace tape {
namespace {

/// Bytes per write.
constexpr int64_t kBlock = 1 << 20;

}  // namespace

LongBytes::LongBytes(const LongBytes& other)
    : most_(other.most_),
      newest_(other.newest_),
      given_(other.given_),
      first_(other.first_),
      given_size_(other.given_size_) {
  for (int64_t at = 0; at < other.file_.size();) {
    std::string block(static_cast<size_t>(std::min(kBlock, other.file_.size() - at)), '\0');
    other.file_.read(at, block.data(), std::ssize(block));
    file_.append(block);
    at += std::ssize(block);
  }
}

LongBytes& LongBytes::operator=(const LongBytes& other) {
  if (this != &other) *this = LongBytes(other);
  return *this;
}

void LongBytes::append(std::string_view bytes) {
  TAPE_ASSERT(!given_);
  newest_ += bytes;
  if (std::ssize(newest_) <= (file_.size() == 0 ? most_ : kBlock)) return;
  file_.append(newest_);
  newest_.clear();
  newest_.shrink_to_fit();
}

std::string LongBytes::read(int64_t begin, int64_t end) const {
  const auto bytes = static_cast<size_t>(end - begin);
  if (!given_ && begin >= file_.size()) return newest_.substr(static_cast<size_t>(begin - file_.size()), bytes);
  std::string read(bytes, '\0');
  if (given_)
    given_->read(first_ + begin, read.data(), end - begin);
  else
    file_.read(begin, read.data(), end - begin);
  return read;
}

void LongBytes::write(const Writer& write) const {
  const int64_t in_file = given_ ? given_size_ : file_.size();
  for (int64_t at = 0; at < in_file; at += kBlock) write(read(at, std::min<int64_t>(at + kBlock, in_file)));
  write(newest_);
}

void write_ends(const std::vector<int64_t>& ends, const Writer& write) {
  const int64_t count = std::ssize(ends);
  write({reinterpret_cast<const char*>(&count), sizeof count});
  write({reinterpret_cast<const char*>(ends.data()), ends.size() * sizeof ends[0]});
}

std::vector<int64_t> read_ends(const InputFile& file, int64_t& at) {
  int64_t count = 0;
  file.read(at, &count, sizeof count);
  at += static_cast<int64_t>(sizeof count);
  if (count < 0 || count > (file.size() - at) / static_cast<int64_t>(sizeof count))
    raise(ErrorKind::format, "{}: truncated list of {} elements", file.path(), count);
  std::vector<int64_t> ends(static_cast<size_t>(count));
  const auto bytes = static_cast<int64_t>(ends.size() * sizeof ends[0]);
  file.read(at, ends.data(), bytes);
  at += bytes;
  return ends;
}

}  // namespace tape
