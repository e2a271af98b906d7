#include "base/long_list.h"

namespace tape {
namespace {

/// Bytes that are written at once.
constexpr size_t kBlock = 1 << 20;

}  // namespace

LongBytes::LongBytes(const LongBytes& other) : most_(other.most_), newest_(other.newest_) {
  for (int64_t at = 0; at < other.file_.size();) {
    std::string block(std::min(kBlock, static_cast<size_t>(other.file_.size() - at)), '\0');
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
  newest_ += bytes;
  if (std::ssize(newest_) <= (file_.size() == 0 ? most_ : static_cast<int64_t>(kBlock))) return;
  file_.append(newest_);
  newest_.clear();
  newest_.shrink_to_fit();
}

std::string LongBytes::read(int64_t begin, int64_t end) const {
  const auto bytes = static_cast<size_t>(end - begin);
  if (begin >= file_.size()) return newest_.substr(static_cast<size_t>(begin - file_.size()), bytes);
  std::string read(bytes, '\0');
  file_.read(begin, read.data(), end - begin);
  return read;
}

}  // namespace tape
