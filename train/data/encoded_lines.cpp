#include "train/data/encoded_lines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "autograd/random.h"
#include "base/error.h"

namespace tape::train {

text::Encoding LineEncoder::whole(const text::Tokenizer& tokenizer, const std::string& sentence) {
  text::Encoding encoding = tokenizer.encode(sentence);
  unknown_.add(tokenizer, encoding, sentence);
  return encoding;
}

text::Encoding LineEncoder::encode(const text::Tokenizer& tokenizer, const std::string& sentence, int64_t max_length) {
  text::Encoding encoding = whole(tokenizer, sentence);
  if (std::ssize(encoding.ids) <= max_length) return encoding;
  ++cut_;
  return tokenizer.encode(sentence, {.max_length = max_length});
}

std::vector<std::vector<int64_t>> LineEncoder::parts(const text::Tokenizer& tokenizer, const std::string& sentence,
                                                     int64_t max_length) {
  const text::Encoding encoding = whole(tokenizer, sentence);
  const auto is_own = [](uint8_t added) { return added == 0; };
  const auto& added = encoding.special_tokens_mask;
  const auto first = std::ranges::find_if(added, is_own) - added.begin();
  const auto last = std::find_if(added.rbegin(), added.rend(), is_own).base() - added.begin();
  std::vector<std::vector<int64_t>> parts;
  if (first >= last) return parts;  // only special tokens
  const std::vector<int64_t>& ids = encoding.ids;
  const int64_t room = max_length - first - (std::ssize(ids) - last);
  if (room < 1)
    raise(ErrorKind::config, "max_length must be more than the {} tokens that the tokenizer adds, got {}",
          max_length - room, max_length);
  cut_ += last - first > room ? 1 : 0;
  for (int64_t at = first; at < last; at += room) {
    std::vector<int64_t>& part = parts.emplace_back(ids.begin(), ids.begin() + first);
    part.insert(part.end(), ids.begin() + at, ids.begin() + std::min(at + room, last));
    part.insert(part.end(), ids.begin() + last, ids.end());
  }
  return parts;
}

std::vector<std::string> LineEncoder::notes(const std::string& name, size_t examples, int64_t max_length,
                                            const char* kind) const {
  std::vector<std::string> notes = unknown(name);
  if (cut_ > 0)
    notes.insert(notes.begin(),
                 fmt::format("{}: {} of {} {} cut to {} tokens", name, cut_, examples, kind, max_length));
  return notes;
}

std::vector<std::string> LineEncoder::unknown(const std::string& name) const {
  const std::string note = unknown_.note();
  return note.empty() ? std::vector<std::string>() : std::vector<std::string>{fmt::format("{}: {}", name, note)};
}

void EncodedLines::add(const std::vector<int64_t>& line) {
  lengths.push_back({.source = std::ssize(line)});
  ids.push_back(line);
}

PaddedLines pad_rows(const std::vector<std::vector<int64_t>>& rows, int64_t padding_id) {
  PaddedLines padded;
  padded.rows = std::ssize(rows);
  padded.length = 1;
  for (const std::vector<int64_t>& row : rows) padded.length = std::max(padded.length, std::ssize(row));
  padded.ids.assign(static_cast<size_t>(padded.rows * padded.length), padding_id);
  padded.seen.assign(padded.ids.size(), 0);
  auto at = int64_t{0};
  for (const std::vector<int64_t>& row : rows) {
    std::copy(row.begin(), row.end(), padded.ids.begin() + at);
    std::fill_n(padded.seen.begin() + at, std::ssize(row), 1);
    at += padded.length;
  }
  return padded;
}

PaddedLines pad_lines(const EncodedLines& lines, const std::vector<int64_t>& which, int64_t padding_id) {
  std::vector<std::vector<int64_t>> rows;
  rows.reserve(which.size());
  for (const int64_t place : which) rows.push_back(lines.ids[static_cast<size_t>(place)]);
  return pad_rows(rows, padding_id);
}

std::vector<bool> draw_part(std::vector<std::vector<size_t>> groups, size_t all, double fraction, uint64_t seed,
                            const std::string& name) {
  if (!(fraction > 0 && fraction < 1))
    raise(ErrorKind::config, "{}: valid_fraction must be between 0 and 1, got {}", name, fraction);
  std::vector<bool> taken(all, false);
  bool any = false;
  Generator draws(seed);
  double due = 0;  // what rounding has left
  for (std::vector<size_t>& places : groups) {
    due += static_cast<double>(places.size()) * fraction;
    const int64_t count = std::min<int64_t>(std::llround(due), std::ssize(places) - 1);
    due = std::min(due - static_cast<double>(std::max<int64_t>(count, 0)), 0.5);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t other = i + draws.below(std::ssize(places) - i);
      std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(other)]);
      taken[places[static_cast<size_t>(i)]] = any = true;
    }
  }
  if (!any)
    raise(ErrorKind::config, "{}: too few examples to use a fraction of {} for validation: {}", name, fraction, all);
  return taken;
}

std::vector<bool> draw_part(size_t all, double fraction, uint64_t seed, const std::string& name) {
  std::vector<size_t> places(all);
  std::iota(places.begin(), places.end(), size_t{0});
  return draw_part({std::move(places)}, all, fraction, seed, name);
}

}  // namespace tape::train
