#include "text/tokenizers/patterns/regex_encoding.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "text/tokenizers/patterns/unicode_properties.h"

namespace tape::text {
namespace {

using unicode_properties::CasePair;
using unicode_properties::kCasePairs;
using unicode_properties::kNames;
using unicode_properties::kYounger;
using unicode_properties::Younger;

/// Code points in Oniguruma's format: the number of ranges, then first and last code point of each.
using Ranges = std::vector<OnigCodePoint>;

bool has(const Younger& younger, size_t property) {
  return ((property < 64 ? younger.low >> property : younger.high >> (property - 64)) & 1) != 0;
}

using CodePointRanges = std::vector<std::pair<OnigCodePoint, OnigCodePoint>>;

Ranges ranges_of(CodePointRanges parts) {
  std::sort(parts.begin(), parts.end());
  Ranges out{0};
  for (const auto& [first, last] : parts) {
    if (out[0] > 0 && out.back() + 1 == first) {
      out.back() = last;
      continue;
    }
    ++out[0];
    out.push_back(first);
    out.push_back(last);
  }
  return out;
}

/// The installed library's ranges, corrected for newer code points.
Ranges with_younger(const OnigCodePoint* known, size_t property) {
  CodePointRanges parts;
  const Younger* next = std::begin(kYounger);
  for (OnigCodePoint i = 0; i < known[0]; ++i) {
    OnigCodePoint first = known[2 * i + 1];
    const OnigCodePoint last = known[2 * i + 2];
    while (next != std::end(kYounger) && next->last < first) ++next;
    for (const Younger* hole = next; hole != std::end(kYounger) && hole->first <= last && first <= last; ++hole) {
      if (first < hole->first) parts.emplace_back(first, hole->first - 1);
      first = std::max<OnigCodePoint>(first, hole->last + 1);
    }
    if (first <= last) parts.emplace_back(first, last);
  }
  for (const Younger& younger : kYounger)
    if (has(younger, property)) parts.emplace_back(younger.first, younger.last);
  return ranges_of(std::move(parts));
}

bool contains(const OnigCodePoint* ranges, OnigCodePoint point) {
  // First code points are at odd indices: find the last one that is not after the point.
  size_t low = 0, high = ranges[0];
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (ranges[2 * middle + 2] < point)
      low = middle + 1;
    else
      high = middle;
  }
  return low < ranges[0] && ranges[2 * low + 1] <= point;
}

/// The installed library's ranges of a property, null for an unknown name.
const OnigCodePoint* known_ranges(std::string_view name) {
  std::string text(name);
  auto* begin = reinterpret_cast<OnigUChar*>(text.data());
  const int ctype = OnigEncodingUTF8.property_name_to_ctype(&OnigEncodingUTF8, begin, begin + text.size());
  if (ctype < 0) return nullptr;
  OnigCodePoint single_bytes = 0;
  const OnigCodePoint* ranges = nullptr;
  return OnigEncodingUTF8.get_ctype_code_range(static_cast<OnigCtype>(ctype), &single_bytes, &ranges) == 0 ? ranges
                                                                                                           : nullptr;
}

/// Our own type number for \p{P}, which shares that of [[:punct:]] in old versions.
constexpr OnigCtype kPunctuationProperty = 1'000'000;

Ranges both(const Ranges& one, const Ranges& other) {
  CodePointRanges parts;
  for (const Ranges* ranges : {&one, &other})
    for (OnigCodePoint i = 0; i < (*ranges)[0]; ++i) parts.emplace_back((*ranges)[2 * i + 1], (*ranges)[2 * i + 2]);
  return ranges_of(std::move(parts));
}

/// Corrected ranges by the library's original ones, which several names and types may share.
const std::map<const OnigCodePoint*, Ranges>& changed_ranges() {
  static const auto& made = *new const std::map<const OnigCodePoint*, Ranges>([] {
    std::map<const OnigCodePoint*, Ranges> out;
    for (size_t i = 0; i < std::size(kNames); ++i)
      if (const OnigCodePoint* known = known_ranges(kNames[i])) out.emplace(known, with_younger(known, i));
    return out;
  }());
  return made;
}

const Ranges& changed_property(std::string_view name) { return changed_ranges().at(known_ranges(name)); }

int property_name_to_ctype(OnigEncoding, OnigUChar* begin, OnigUChar* end) {
  const int ctype = OnigEncodingUTF8.property_name_to_ctype(&OnigEncodingUTF8, begin, end);
  return ctype == ONIGENC_CTYPE_PUNCT ? static_cast<int>(kPunctuationProperty) : ctype;
}

int get_ctype_code_range(OnigCtype ctype, OnigCodePoint* single_bytes, const OnigCodePoint* ranges[]) {
  // Before 6.9.9, only ASCII symbols count as punctuation.
  static const Ranges punctuation = both(changed_property("P"), changed_property("S"));
  const bool property = ctype == kPunctuationProperty;
  const int error =
      OnigEncodingUTF8.get_ctype_code_range(property ? OnigCtype{ONIGENC_CTYPE_PUNCT} : ctype, single_bytes, ranges);
  if (error != 0) return error;
  if (ctype == ONIGENC_CTYPE_PUNCT) {
    *ranges = punctuation.data();
  } else if (property) {
    *ranges = changed_property("P").data();
  } else if (const auto found = changed_ranges().find(*ranges); found != changed_ranges().end()) {
    *ranges = found->second.data();
  }
  return error;
}

int is_code_ctype(OnigCodePoint point, OnigCtype ctype) {
  // Below U+0100 Oniguruma uses its own table, which does not follow Unicode alone.
  if (point < 0x100) return OnigEncodingUTF8.is_code_ctype(point, ctype);
  static const Ranges& word = changed_property("Word");
  if (ctype == ONIGENC_CTYPE_WORD) return contains(word.data(), point);
  OnigCodePoint single_bytes = 0;
  const OnigCodePoint* ranges = nullptr;
  return get_ctype_code_range(ctype, &single_bytes, &ranges) == 0 ? contains(ranges, point)
                                                                  : OnigEncodingUTF8.is_code_ctype(point, ctype);
}

const CasePair* pair_of_upper(char32_t point) {
  const auto* found = std::ranges::find(kCasePairs, point, &CasePair::upper);
  return found == std::end(kCasePairs) ? nullptr : found;
}

int mbc_case_fold(OnigCaseFoldType flag, const OnigUChar** at, const OnigUChar* end, OnigUChar* to) {
  const CodePoint point = decode_utf8({reinterpret_cast<const char*>(*at), static_cast<size_t>(end - *at)});
  const CasePair* pair = point.value < 0x100 ? nullptr : pair_of_upper(point.value);
  if (pair == nullptr) return OnigEncodingUTF8.mbc_case_fold(flag, at, end, to);
  *at += point.length;
  return OnigEncodingUTF8.code_to_mbc(pair->lower, to);
}

int apply_all_case_fold(OnigCaseFoldType flag, OnigApplyAllCaseFoldFunc apply, void* argument) {
  if (const int error = OnigEncodingUTF8.apply_all_case_fold(flag, apply, argument); error != 0) return error;
  for (const auto& [upper, lower] : kCasePairs) {
    OnigCodePoint one = lower, other = upper;
    if (const int error = apply(upper, &one, 1, argument); error != 0) return error;
    if (const int error = apply(lower, &other, 1, argument); error != 0) return error;
  }
  return 0;
}

int get_case_fold_codes_by_str(OnigCaseFoldType flag, const OnigUChar* begin, const OnigUChar* end,
                               OnigCaseFoldCodeItem items[]) {
  const int count = OnigEncodingUTF8.get_case_fold_codes_by_str(flag, begin, end, items);
  if (count != 0 || begin == end || *begin < 0xC0) return count;
  const CodePoint point = decode_utf8({reinterpret_cast<const char*>(begin), static_cast<size_t>(end - begin)});
  for (const auto& [upper, lower] : kCasePairs)
    if (point.value == upper || point.value == lower) {
      items[0].byte_len = static_cast<int>(point.length);
      items[0].code_len = 1;
      items[0].code[0] = point.value == upper ? lower : upper;
      return 1;
    }
  return count;
}

}  // namespace

OnigEncoding regex_encoding() {
  static OnigEncodingType& made = *new OnigEncodingType([] {
    OnigEncodingType out = OnigEncodingUTF8;
    out.property_name_to_ctype = property_name_to_ctype;
    out.is_code_ctype = is_code_ctype;
    out.get_ctype_code_range = get_ctype_code_range;
    out.mbc_case_fold = mbc_case_fold;
    out.apply_all_case_fold = apply_all_case_fold;
    out.get_case_fold_codes_by_str = get_case_fold_codes_by_str;
    OnigEncoding used[] = {&OnigEncodingUTF8};
    if (onig_initialize(used, 1) != 0) throw std::bad_alloc();
    return out;
  }());
  return &made;
}

}  // namespace tape::text
