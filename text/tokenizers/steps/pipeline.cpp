#include "text/tokenizers/steps/pipeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/file.h"
#include "base/utf8.h"
#include "text/tokenizers/patterns/unicode.h"

namespace tape::text {

Pipeline::Pipeline(Parts parts)
    : TableTokenizer(std::move(parts.table)),
      config_(std::move(parts.config)),
      normalizer_(std::move(parts.normalizer)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      model_(std::move(parts.model)),
      decoder_(std::move(parts.decoder)),
      trim_(parts.trim),
      clean_up_(parts.clean_up),
      is_added_(static_cast<size_t>(table().size())) {
  for (const AddedToken& token : added_tokens(config_, table(), parts.listed)) add_token(token);
  special_ = special_ids(config_, table());
}

void Pipeline::save_config(const std::string& folder) const {
  TokenizerConfig config = config_;
  config.added = added_list_;
  write_tokenizer_config(folder, config);
}

void Pipeline::add_token(const AddedToken& token) {
  const auto place = static_cast<size_t>(token.id);
  if (is_added_[place]) return;
  is_added_[place] = true;
  added_list_.push_back(token);
  mark_special(token.id, token.special);
  if (!token.normalized) return added_.add(token, token.content);
  Normalized content(token.content);
  if (normalizer_) normalizer_(content);
  added_normalized_.add(token, content.text);
  if (content.text != token.content) normalized_content_.emplace(token.id, std::move(content.text));
}

template <class Text, class Token>
void Pipeline::each_part(const AddedTokens& tokens, std::string_view text, Text&& on_text, Token&& on_token) {
  if (tokens.empty()) return on_text(Range{0, static_cast<uint32_t>(text.size())});
  std::vector<AddedTokens::Part> parts;
  tokens.split(text, parts);
  for (const AddedTokens::Part& part : parts) {
    if (part.id < 0)
      on_text(part.range);
    else
      on_token(part.range, part.id);
  }
}

void Pipeline::split(std::string_view text, std::vector<Piece>& to) const {
  const size_t before = to.size();
  split_with_trace(text, to, nullptr);
  if (trim_ != TrimOffsets::no) trim(text, std::span(to).subspan(before));
}

void Pipeline::split_with_trace(std::string_view text, std::vector<Piece>& to, Lines* lines) const {
  each_part(
      added_, text,
      [&](Range part) { split_source(text.substr(part.begin, part.end - part.begin), part.begin, to, lines); },
      [&](Range part, int64_t id) {
        if (lines != nullptr) lines->push_back(fmt::format("added token {} ({})", token(id), id));
        to.push_back({static_cast<int32_t>(id), part.begin, part.end});
      });
}

void Pipeline::split_source(std::string_view source, uint32_t at, std::vector<Piece>& to, Lines* lines) const {
  const size_t before = to.size();
  Normalized text(source);
  if (normalizer_) normalizer_(text);
  if (lines != nullptr && normalizer_) lines->push_back(fmt::format("normalized: {}", clipped(text.text, 1000)));
  each_part(
      added_normalized_, text.text,
      [&](Range part) {
        if (part.begin == 0 && part.end == text.text.size()) return split_normalized(text, at == 0, to, lines);
        Normalized inner(std::string_view(text.text).substr(part.begin, part.end - part.begin));
        inner.origin.resize(inner.text.size());
        for (uint32_t i = part.begin; i < part.end; ++i) inner.origin[i - part.begin] = text.source_of(i, i + 1);
        split_normalized(inner, at == 0, to, lines);
      },
      [&](Range part, int64_t id) {
        if (lines != nullptr) lines->push_back(fmt::format("added token {} ({})", token(id), id));
        const Range from = text.source_of(part.begin, part.end);
        to.push_back({static_cast<int32_t>(id), from.begin, from.end});
      });
  if (at != 0)
    for (size_t i = before; i < to.size(); ++i) {
      to[i].begin += at;
      to[i].end += at;
    }
}

void Pipeline::split_normalized(Normalized& text, bool starts, std::vector<Piece>& to, Lines* lines) const {
  const size_t before = to.size();
  std::vector<Range> words;
  if (!text.text.empty()) words.push_back({0, static_cast<uint32_t>(text.text.size())});
  if (pre_tokenizer_) pre_tokenizer_(text, words, starts);
  if (lines != nullptr) {
    std::string line = "words:";
    for (const Range& word : words)
      line += fmt::format(" |{}|", clipped(std::string_view(text.text).substr(word.begin, word.end - word.begin), 200));
    lines->push_back(std::move(line));
    for (const Range& word : words)
      if (word.begin < word.end)
        model_->explain(std::string_view(text.text).substr(word.begin, word.end - word.begin), *lines);
  }
  model_->split(text.text, words, to);
  for (size_t i = before; i < to.size(); ++i) {
    const Range from = text.source_of(to[i].begin, to[i].end);
    to[i].begin = from.begin;
    to[i].end = from.end;
  }
}

// As in tokenizers, trims as many characters of the text as the token has spaces. If the space was prepended, this cuts
// a character of the word.
void Pipeline::trim(std::string_view text, std::span<Piece> pieces) const {
  constexpr std::string_view kBlank = "\xC4\xA0";  // Ġ
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    uint32_t leading = 0, trailing = 0;
    if (is_added_[static_cast<size_t>(piece.id)]) {
      // An added token includes the white space around it.
      const std::string_view own = text.substr(piece.begin, piece.end - piece.begin);
      bool before = true;
      for (size_t at = 0; at < own.size();) {
        const CodePoint point = decode_utf8(own.substr(at));
        const bool blank = is_white_space(point.value);
        before = before && blank;
        leading += before;
        trailing = blank ? trailing + 1 : 0;
        at += point.length;
      }
    } else {
      std::string_view rest = token(piece.id);
      for (; rest.ends_with(kBlank); rest.remove_suffix(kBlank.size())) ++trailing;
      for (rest = token(piece.id); rest.starts_with(kBlank); rest.remove_prefix(kBlank.size())) ++leading;
    }
    if (leading > 0 && trim_ == TrimOffsets::all_but_prefix && (i == 0 || piece.begin == 0)) --leading;
    for (; leading > 0 && piece.begin < piece.end; --leading)
      piece.begin += decode_utf8(text.substr(piece.begin)).length;
    for (; trailing > 0 && piece.begin < piece.end; --trailing) do
        --piece.end;
      while (piece.begin < piece.end && (static_cast<unsigned char>(text[piece.end]) & 0xC0) == 0x80);
  }
}

/// A token as written by decode: tokenizers writes added tokens in the form that is matched, that is, normalized.
const std::string& Pipeline::written(int64_t id) const {
  if (normalized_content_.empty()) return token(id);
  const auto found = normalized_content_.find(id);
  return found == normalized_content_.end() ? token(id) : found->second;
}

/// Compares the written form, so that a special token whose normalized form differs is not skipped.
bool Pipeline::skipped(int64_t id) const {
  const auto known = normalized_content_.contains(id) ? find(written(id)) : id;
  return known && is_special(*known);
}

std::string Pipeline::join(std::span<const int64_t> ids) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const int64_t id : ids) {
    if (!decoder_ && !tokens.empty()) tokens.push_back(" ");
    tokens.push_back(written(id));
  }
  if (decoder_) decoder_(tokens);
  std::string out;
  for (const std::string& token : tokens) out += token;
  return clean_up_ ? cleaned_up(std::move(out)) : out;
}

std::vector<std::string> Pipeline::explain(std::string_view text) const {
  Lines lines;
  std::vector<Piece> pieces;
  lines.push_back(fmt::format("text: {}", clipped(text, 1000)));
  split_with_trace(text, pieces, &lines);
  std::string line = "tokens:";
  for (const Piece& piece : pieces) line += fmt::format(" {} ({})", clipped(token(piece.id), 100), piece.id);
  lines.push_back(std::move(line));
  return lines;
}

}  // namespace tape::text
