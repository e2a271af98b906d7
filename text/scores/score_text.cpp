#include "text/scores/score_text.h"

#include <algorithm>
#include <compare>

#include <fmt/format.h>
#include <utf8proc.h>

#include "base/error.h"
#include "base/version.h"
#include "text/tokenizers/patterns/unicode.h"

namespace tape::text {
namespace {

constexpr char32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2, kCapitalDottedI = 0x130;

/// Unicode's Case_Ignorable: skipped when the rule for final sigma looks for adjacent letters.
bool is_case_ignorable(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_SK:
      return true;
    default:
      // Punctuation within words.
      return std::u32string_view(U"'.:·\u0387\u055F\u05F4\u2018\u2019\u2024\u2027\uFE13\uFE52\uFE55\uFF07\uFF0E\uFF1A")
                 .find(c) != std::u32string_view::npos;
  }
}

/// Unicode's Cased, for code points that are not Case_Ignorable.
bool is_cased(char32_t c) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
      return true;
    default:
      // Ordinal indicators, Roman numerals, enclosed letters.
      return c == 0xAA || c == 0xBA || (c >= 0x2160 && c <= 0x217F) || (c >= 0x24B6 && c <= 0x24E9) ||
             (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189);
  }
}

/// Unicode's Final_Sigma condition: a letter before and none after.
bool ends_word(std::u32string_view text, size_t place) {
  const auto before =
      std::find_if_not(text.rend() - static_cast<std::ptrdiff_t>(place), text.rend(), is_case_ignorable);
  if (before == text.rend() || !is_cased(*before)) return false;
  const auto behind =
      std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(place) + 1, text.end(), is_case_ignorable);
  return behind == text.end() || !is_cased(*behind);
}

}  // namespace

std::u32string to_code_points(std::string_view text) {
  std::u32string points;
  points.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    points.push_back(point.value);
    text.remove_prefix(point.length);
  }
  return points;
}

bool is_python_space(char32_t point) { return (point >= 0x1C && point <= 0x1F) || is_white_space(point); }

std::u32string_view trim_end(std::u32string_view text) {
  while (!text.empty() && is_python_space(text.back())) text.remove_suffix(1);
  return text;
}

std::u32string lower_case(std::u32string_view text) {
  std::u32string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == kCapitalSigma) {
      out.push_back(ends_word(text, i) ? kFinalSigma : kSigma);
    } else if (text[i] == kCapitalDottedI) {
      out.append(U"i\u0307");
    } else {
      out.push_back(to_lower(text[i]));
    }
  }
  return out;
}

std::vector<std::u32string_view> split_words(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (auto at = text.begin();;) {
    const auto begin = std::find_if_not(at, text.end(), is_python_space);
    if (begin == text.end()) return words;
    at = std::find_if(begin, text.end(), is_python_space);
    words.emplace_back(begin, at);
  }
}

NgramCounts count_ngrams(std::u32string_view text, size_t length) {
  if (text.size() < length) return {};
  std::vector<std::u32string_view> all;
  all.reserve(text.size() - length + 1);
  for (size_t i = 0; i + length <= text.size(); ++i) all.push_back(text.substr(i, length));
  std::ranges::sort(all);
  NgramCounts counts;
  for (const std::u32string_view ngram : all) {
    if (!counts.empty() && counts.back().first == ngram) {
      ++counts.back().second;
    } else {
      counts.emplace_back(ngram, 1);
    }
  }
  return counts;
}

int64_t common_ngrams(const NgramCounts& a, const NgramCounts& b) {
  int64_t common = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    const auto order = x->first <=> y->first;
    if (std::is_eq(order)) common += std::min(x->second, y->second);
    if (std::is_lteq(order)) ++x;
    if (std::is_gteq(order)) ++y;
  }
  return common;
}

NgramCounts merge_ngrams(const NgramCounts& a, const NgramCounts& b) {
  NgramCounts merged;
  merged.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(merged), {}, &NgramCounts::value_type::first,
                     &NgramCounts::value_type::first);
  // Equal n-grams of the two sides are now adjacent.
  NgramCounts counts;
  for (const auto& [ngram, count] : merged) {
    if (!counts.empty() && counts.back().first == ngram) {
      counts.back().second = std::max(counts.back().second, count);
    } else {
      counts.emplace_back(ngram, count);
    }
  }
  return counts;
}

int64_t total_ngrams(const NgramCounts& counts) {
  int64_t total = 0;
  for (const auto& [ngram, count] : counts) total += count;
  return total;
}

void check_references(std::string_view score, std::span<const std::string> hypotheses,
                      std::span<const std::vector<std::string>> references) {
  if (hypotheses.empty()) raise(ErrorKind::config, "{}: no hypotheses", score);
  if (references.empty()) raise(ErrorKind::config, "{}: no references", score);
  for (size_t set = 0; set < references.size(); ++set) {
    if (references[set].size() != hypotheses.size())
      raise(ErrorKind::shape, "{}: {} hypotheses but {} references in set {}", score, hypotheses.size(),
            references[set].size(), set);
  }
}

std::string score_version() { return fmt::format("tapeformer-{}", version()); }

}  // namespace tape::text
