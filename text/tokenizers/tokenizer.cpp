#include "text/tokenizers/tokenizer.h"

#include <algorithm>
#include <limits>

#include "base/error.h"

namespace tape::text {
namespace {

void check_size(std::string_view text) {
  if (text.size() > std::numeric_limits<uint32_t>::max())
    raise(ErrorKind::config, "encode: the text has {} bytes, but at most {} are supported", text.size(),
          std::numeric_limits<uint32_t>::max());
}

void cut(std::vector<Piece>& pieces, size_t keep, Side side) {
  if (keep >= pieces.size()) return;
  if (side == Side::left)
    pieces.erase(pieces.begin(), pieces.end() - static_cast<ptrdiff_t>(keep));
  else
    pieces.resize(keep);
}

/// Truncates both texts to a total of `room` tokens.
void truncate(std::vector<Piece>& first, std::vector<Piece>& second, bool pair, size_t room,
              const EncodeOptions& options) {
  const size_t total = first.size() + second.size();
  if (total <= room) return;
  if (room == 0) {
    first.clear();
    second.clear();
    return;
  }
  if (options.truncation == Truncation::longest_first) {
    if (!pair) return cut(first, room, options.truncation_side);
    // The shorter text is kept whole if it takes at most half of the room; else each gets half.
    size_t shorter = std::min(first.size(), second.size());
    size_t longer = shorter > room ? shorter : std::max(shorter, room - shorter);
    if (shorter + longer > room) {
      shorter = room / 2;
      longer = room - shorter;
    }
    const bool first_is_longer = first.size() > second.size();
    cut(first, first_is_longer ? longer : shorter, options.truncation_side);
    cut(second, first_is_longer ? shorter : longer, options.truncation_side);
    return;
  }
  const bool cut_first = options.truncation == Truncation::only_first;
  if (!cut_first && !pair) raise(ErrorKind::config, "encode: truncation only_second needs a second text");
  std::vector<Piece>& text = cut_first ? first : second;
  const size_t excess = total - room;
  if (text.size() <= excess)
    raise(ErrorKind::config, "encode: must remove {} tokens, but the {} text has only {} (max_length {})", excess,
          cut_first ? "first" : "second", text.size(), options.max_length);
  cut(text, text.size() - excess, options.truncation_side);
}

}  // namespace

Encoding Tokenizer::build(const std::vector<Part>& parts, std::vector<Piece>& first, std::vector<Piece>& second,
                          bool pair, const EncodeOptions& options) const {
  size_t added = 0;
  for (const Part& part : parts) added += options.add_special_tokens && part.kind == Part::Kind::special;
  if (options.max_length < 0)
    raise(ErrorKind::config, "encode: max_length must not be negative, got {}", options.max_length);
  if (options.max_length > 0) {
    if (options.truncation == Truncation::none)
      raise(ErrorKind::config, "encode: max_length {} requires truncation, which is none", options.max_length);
    const auto limit = static_cast<size_t>(options.max_length);
    if (limit < added) raise(ErrorKind::config, "encode: max_length {} is less than the {} tokens added", limit, added);
    truncate(first, second, pair, limit - added, options);
  }
  const size_t total = first.size() + second.size() + added;
  Encoding out;
  out.ids.reserve(total);
  out.type_ids.reserve(total);
  out.offsets.reserve(total);
  out.special_tokens_mask.reserve(total);
  for (const Part& part : parts) {
    if (part.kind == Part::Kind::special) {
      if (!options.add_special_tokens) continue;
      out.ids.push_back(part.id);
      out.offsets.push_back({});
      out.special_tokens_mask.push_back(1);
    } else {
      const std::vector<Piece>& text = part.kind == Part::Kind::first ? first : second;
      for (const Piece& piece : text) {
        out.ids.push_back(piece.id);
        out.offsets.push_back({piece.begin, piece.end});
      }
      out.special_tokens_mask.resize(out.ids.size(), 0);
    }
    out.type_ids.resize(out.ids.size(), part.type_id);
  }
  out.attention_mask.assign(out.ids.size(), 1);
  return out;
}

void Tokenizer::set_bos_eos_template(bool begin, bool end) {
  const auto around = [&](Part::Kind text, int64_t type_id) {
    std::vector<Part> parts{{text, 0, type_id}};
    if (begin) parts.insert(parts.begin(), {Part::Kind::special, special_.bos, type_id});
    if (end) parts.push_back({Part::Kind::special, special_.eos, type_id});
    return parts;
  };
  template_.single = template_.pair = around(Part::Kind::first, 0);
  for (const Part& part : around(Part::Kind::second, 1)) template_.pair.push_back(part);
}

void Tokenizer::set_language_template(int64_t language, bool behind) {
  const Part first{Part::Kind::first}, second{Part::Kind::second};
  const Part tag{Part::Kind::special, language, 0}, eos{Part::Kind::special, special_.eos, 0};
  template_.single = behind ? std::vector<Part>{first, eos, tag} : std::vector<Part>{tag, first, eos};
  template_.pair = behind ? std::vector<Part>{first, second, eos, tag} : std::vector<Part>{tag, first, second, eos};
}

Encoding Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  check_size(text);
  std::vector<Piece> pieces, none;
  split(text, pieces);
  return build(template_.single, pieces, none, false, options);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, const EncodeOptions& options) const {
  check_size(first);
  check_size(second);
  std::vector<Piece> a, b;
  split(first, a);
  split(second, b);
  return build(template_.pair, a, b, true, options);
}

std::vector<Encoding> Tokenizer::encode_batch(std::span<const std::string> texts, const EncodeOptions& options,
                                              const PadOptions& padding) const {
  std::vector<Encoding> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(encode(text, options));
  pad(out, padding);
  return out;
}

std::vector<Encoding> Tokenizer::encode_pair_batch(std::span<const std::string> firsts,
                                                   std::span<const std::string> seconds, const EncodeOptions& options,
                                                   const PadOptions& padding) const {
  if (firsts.size() != seconds.size())
    raise(ErrorKind::shape, "encode_pair_batch: {} first texts but {} second texts", firsts.size(), seconds.size());
  std::vector<Encoding> out;
  out.reserve(firsts.size());
  for (size_t i = 0; i < firsts.size(); ++i) out.push_back(encode_pair(firsts[i], seconds[i], options));
  pad(out, padding);
  return out;
}

void Tokenizer::pad(std::span<Encoding> encodings, const PadOptions& options) const {
  if (options.to == Padding::none) return;
  if (options.length < 0) raise(ErrorKind::config, "pad: length must not be negative, got {}", options.length);
  if (options.multiple_of < 1)
    raise(ErrorKind::config, "pad: multiple_of must be at least 1, got {}", options.multiple_of);
  size_t length = options.to == Padding::fixed ? static_cast<size_t>(options.length) : 0;
  if (options.to == Padding::longest)
    for (const Encoding& e : encodings) length = std::max(length, e.size());
  const auto step = static_cast<size_t>(options.multiple_of);
  if (length > std::numeric_limits<size_t>::max() / 2 || step > std::numeric_limits<size_t>::max() / 2)
    raise(ErrorKind::config, "pad: length {} is too large", std::max(length, step));
  length = (length + step - 1) / step * step;
  for (Encoding& e : encodings) {
    if (e.size() >= length) continue;
    if (special_.pad < 0) raise(ErrorKind::config, "pad: the tokenizer has no padding token");
    const auto count = static_cast<ptrdiff_t>(length - e.size());
    const auto fill = [&](auto& values, auto value) {
      values.insert(options.side == Side::left ? values.begin() : values.end(), static_cast<size_t>(count), value);
    };
    fill(e.ids, special_.pad);
    fill(e.type_ids, int64_t{0});
    fill(e.attention_mask, int64_t{0});
    fill(e.offsets, Range{});
    fill(e.special_tokens_mask, uint8_t{1});
  }
}

std::string Tokenizer::decode(std::span<const int64_t> ids, bool skip_special_tokens) const {
  std::vector<int64_t> kept;
  kept.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size())
      raise(ErrorKind::index, "decode: id {} at position {} is not in 0..{}", ids[i], i, vocab_size() - 1);
    if (!skip_special_tokens || !skipped(ids[i])) kept.push_back(ids[i]);
  }
  return join(kept);
}

std::vector<std::string> Tokenizer::tokens(std::span<const int64_t> ids) const {
  std::vector<std::string> out;
  out.reserve(ids.size());
  for (const int64_t id : ids) out.push_back(token(id));
  return out;
}

}  // namespace tape::text
