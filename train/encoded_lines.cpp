#include "train/encoded_lines.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "text/unknown_tokens.h"

namespace tape::train {

std::vector<std::string> EncodedLines::notes(const std::string& file, int64_t max_length) const {
  std::vector<std::string> notes;
  if (cut > 0) notes.push_back(fmt::format("{}: {} of {} lines cut to {} tokens", file, cut, ids.size(), max_length));
  if (!unknown.empty()) notes.push_back(fmt::format("{}: {}", file, unknown));
  return notes;
}

EncodedLines encode_lines(std::span<const std::string> lines, const text::Tokenizer& tokenizer, int64_t max_length) {
  EncodedLines encoded;
  text::UnknownTokens unknown;
  for (const std::string& line : lines) {
    text::Encoding encoding = tokenizer.encode(line);
    unknown.add(tokenizer, encoding, line);
    std::vector<int64_t> ids = std::move(encoding.ids);
    if (std::ssize(ids) > max_length) {
      ids = tokenizer.encode(line, {.max_length = max_length}).ids;
      ++encoded.cut;
    }
    encoded.lengths.push_back({.source = std::ssize(ids)});
    encoded.ids.push_back(std::move(ids));
  }
  encoded.unknown = unknown.note();
  return encoded;
}

EncodedLines encode_parts(std::span<const std::string> lines, const text::Tokenizer& tokenizer, int64_t max_length) {
  EncodedLines encoded;
  text::UnknownTokens unknown;
  for (const std::string& line : lines) {
    const text::Encoding encoding = tokenizer.encode(line);
    unknown.add(tokenizer, encoding, line);
    const auto is_own = [](uint8_t added) { return added == 0; };
    const auto& added = encoding.special_tokens_mask;
    const auto first = std::ranges::find_if(added, is_own) - added.begin();
    const auto last = std::find_if(added.rbegin(), added.rend(), is_own).base() - added.begin();
    if (first >= last) continue;  // no token of its own
    const std::vector<int64_t>& ids = encoding.ids;
    const int64_t room = max_length - first - (std::ssize(ids) - last);
    if (room < 1)
      raise(ErrorKind::config, "max_length must be more than the {} tokens that the tokenizer adds, got {}",
            max_length - room, max_length);
    encoded.cut += last - first > room ? 1 : 0;
    for (int64_t at = first; at < last; at += room) {
      std::vector<int64_t> part(ids.begin(), ids.begin() + first);
      part.insert(part.end(), ids.begin() + at, ids.begin() + std::min(at + room, last));
      part.insert(part.end(), ids.begin() + last, ids.end());
      encoded.lengths.push_back({.source = std::ssize(part)});
      encoded.ids.push_back(std::move(part));
    }
  }
  encoded.unknown = unknown.note();
  return encoded;
}

PaddedLines pad_lines(const EncodedLines& lines, const std::vector<int64_t>& which, int64_t padding_id) {
  PaddedLines padded;
  padded.rows = std::ssize(which);
  padded.length = 1;
  for (const int64_t place : which)
    padded.length = std::max(padded.length, std::ssize(lines.ids[static_cast<size_t>(place)]));
  padded.ids.assign(static_cast<size_t>(padded.rows * padded.length), padding_id);
  padded.seen.assign(padded.ids.size(), 0);
  auto at = int64_t{0};
  for (const int64_t place : which) {
    const std::vector<int64_t>& ids = lines.ids[static_cast<size_t>(place)];
    std::copy(ids.begin(), ids.end(), padded.ids.begin() + at);
    std::fill_n(padded.seen.begin() + at, std::ssize(ids), 1);
    at += padded.length;
  }
  return padded;
}

void take_places(std::vector<size_t> places, double fraction, Generator& draws, std::vector<bool>& taken) {
  const auto count = static_cast<int64_t>(std::llround(static_cast<double>(places.size()) * fraction));
  for (int64_t i = 0; i < std::min(count, std::ssize(places) - 1); ++i) {
    const int64_t other = i + draws.below(std::ssize(places) - i);
    std::swap(places[static_cast<size_t>(i)], places[static_cast<size_t>(other)]);
    taken[places[static_cast<size_t>(i)]] = true;
  }
}

std::vector<bool> lines_to_validate(size_t count, double fraction, uint64_t seed, const std::string& name) {
  check_valid_fraction(fraction, name);
  std::vector<size_t> places(count);
  std::iota(places.begin(), places.end(), size_t{0});
  std::vector<bool> taken(count, false);
  Generator draws(seed);
  take_places(std::move(places), fraction, draws, taken);
  check_some_taken(taken, fraction, name);
  return taken;
}

void check_valid_fraction(double fraction, const std::string& name) {
  if (!(fraction > 0 && fraction < 1))
    raise(ErrorKind::config, "{}: valid_fraction must be between 0 and 1, got {}", name, fraction);
}

void check_some_taken(const std::vector<bool>& taken, double fraction, const std::string& name) {
  if (std::ranges::find(taken, true) == taken.end())
    raise(ErrorKind::config, "{}: too few lines to keep a fraction of {} for validation: {}", name, fraction,
          taken.size());
}

}  // namespace tape::train
