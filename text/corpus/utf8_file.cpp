#include "text/corpus/utf8_file.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/utf8.h"
#include "text/corpus/corpus_file.h"

namespace tape::text {
namespace {

constexpr int64_t kBlock = 1 << 18;

/// Removes and counts the carriage returns of CRLF.
int64_t remove_carriage_returns(std::string& text) {
  size_t kept = 0;
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') text[kept++] = text[i];
  const auto removed = static_cast<int64_t>(text.size() - kept);
  text.resize(kept);
  return removed;
}

}  // namespace

bool Utf8File::read(std::string& to) {
  if (position_ == file_.size()) return false;
  const int64_t begin = position_ - static_cast<int64_t>(carried_.size());
  const int64_t bytes = std::min(kBlock, file_.size() - position_);
  std::string raw = std::move(carried_);
  const size_t from = raw.size();
  raw.resize(from + static_cast<size_t>(bytes));
  file_.read(position_, raw.data() + from, bytes);
  position_ += bytes;
  carried_.clear();

  size_t first = 0;
  if (begin == 0) {
    check_not_utf16(raw, path());
    byte_order_mark_ = raw.starts_with("\xEF\xBB\xBF");
    if (byte_order_mark_) line_begin_ = 3;
    first = byte_order_mark_ ? 3 : 0;
  }
  size_t end = raw.size();
  const std::optional<size_t> broken = first_invalid_utf8(std::string_view(raw).substr(first));
  if (broken) end = first + *broken;
  const bool last = position_ == file_.size();
  constexpr size_t kLongestStart = 3;  // bytes of a character that is completed by the next block
  if (end < raw.size() && (last || raw.size() - end > kLongestStart)) check(raw, end);
  if (!last && end > first && raw[end - 1] == '\r') --end;
  carried_ = raw.substr(end);

  const std::string_view whole = std::string_view(raw).substr(0, end);
  line_ += std::ranges::count(whole, '\n');
  if (const size_t feed = whole.rfind('\n'); feed != std::string_view::npos)
    line_begin_ = begin + static_cast<int64_t>(feed) + 1;
  std::string block(whole.substr(first));
  carriage_returns_ += remove_carriage_returns(block);
  to += block;
  return true;
}

/// Throws for the byte of a block that does not begin a valid character.
void Utf8File::check(const std::string& raw, size_t end) const {
  const std::string_view before = std::string_view(raw).substr(0, end);
  const int64_t at = position_ - static_cast<int64_t>(raw.size()) + static_cast<int64_t>(end);
  const size_t feed = before.rfind('\n');
  const int64_t begin = feed == std::string_view::npos ? line_begin_ : at - static_cast<int64_t>(end - feed - 1);
  raise(ErrorKind::format, "{}: line {}, byte {}: 0x{:02X} is not valid UTF-8 (byte {} of the file)", path(),
        line_ + std::ranges::count(before, '\n'), at - begin + 1, static_cast<unsigned char>(raw[end]), at + 1);
}

}  // namespace tape::text
