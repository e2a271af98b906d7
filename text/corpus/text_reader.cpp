#include "text/corpus/text_reader.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/number_text.h"
#include "base/utf8.h"

namespace tape::text {
namespace {

constexpr size_t kPiece = 1 << 20;

bool is_printed(char c) { return c > ' ' && c < '\x7F'; }

/// Finds the end of the first piece of a longer text.
size_t end_of_piece(std::string_view text) {
  for (size_t at = kPiece; at > kPiece / 2; --at)
    if (text[at - 1] == '\n' && is_printed(text[at - 2]) && is_printed(text[at])) return at;
  for (size_t at = kPiece; at > kPiece / 2; --at)
    if (text[at] == ' ' && is_ascii_letter(text[at - 1]) && is_ascii_letter(text[at + 1])) return at;
  size_t at = kPiece;
  while (!is_utf8_lead_byte(text[at])) --at;
  return at;
}

/// Number of bytes of the first `count` characters of a text with at least as many.
size_t bytes_of(std::string_view text, int64_t characters) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (is_utf8_lead_byte(text[at]) && characters-- == 0) break;
  return at;
}

}  // namespace

/// Appends the part of the next block inside the range. Returns false at the end of the file or range.
bool TextReader::fill() {
  std::string block;
  if (characters_ >= range_.end || !file_.read(block)) return false;
  nuls_ += std::ranges::count(block, '\0');
  const int64_t first = characters_;
  characters_ += std::ranges::count_if(block, is_utf8_lead_byte);
  std::string_view wanted = block;
  if (characters_ > range_.end) wanted = wanted.substr(0, bytes_of(wanted, range_.end - first));
  if (first < range_.begin) wanted.remove_prefix(bytes_of(wanted, range_.begin - first));
  buffer_ += wanted;
  return true;
}

std::optional<std::string_view> TextReader::next() {
  buffer_.erase(0, given_);
  while (buffer_.size() < kPiece + 2 && fill()) {
  }
  given_ = buffer_.size() < kPiece + 2 ? buffer_.size() : end_of_piece(buffer_);
  if (given_ == 0) return std::nullopt;
  return std::string_view(buffer_).substr(0, given_);
}

std::vector<std::string> TextReader::notes() const {
  std::vector<std::string> notes;
  if (file_.byte_order_mark()) notes.push_back(fmt::format("{}: byte order mark removed", file()));
  if (file_.carriage_returns() > 0)
    notes.push_back(
        fmt::format("{}: carriage returns removed from {}", file(), counted(file_.carriage_returns(), "line")));
  if (nuls_ > 0) notes.push_back(fmt::format("{}: {} kept", file(), counted(nuls_, "NUL character")));
  return notes;
}

int64_t count_characters(const std::string& file, std::vector<std::string>& notes) {
  TextReader reader(file);
  int64_t characters = 0;
  while (const auto piece = reader.next()) characters += std::ranges::count_if(*piece, is_utf8_lead_byte);
  if (characters == 0) raise(ErrorKind::config, "{}: the file is empty", file);
  for (std::string& note : reader.notes()) notes.push_back(std::move(note));
  return characters;
}

int64_t training_split_size(int64_t all, double valid_fraction, const std::string& file, const char* what) {
  if (!(valid_fraction > 0 && valid_fraction < 1))
    raise(ErrorKind::config, "{}: valid_fraction must be between 0 and 1, got {}", file, valid_fraction);
  const auto train = static_cast<int64_t>(std::floor(static_cast<double>(all) * (1 - valid_fraction)));
  if (train == 0 || train == all)
    raise(ErrorKind::config, "{}: too short to keep a fraction of {} for validation: {}", file, valid_fraction,
          counted(all, what));
  return train;
}

}  // namespace tape::text
