#include "text/tokenizers/code_point_set.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

#include <utf8proc.h>

#include "text/tokenizers/unicode.h"
#include "text/tokenizers/unicode_categories.h"

namespace tape::text {
namespace {

constexpr char32_t kLastPoint = CodePointSet::kLast;
constexpr CodePointSet::Range kSurrogates{0xD800, 0xDFFF};

using Name = std::array<char, 2>;
constexpr Name name_of(std::string_view name) { return {name[0], name[1]}; }

/// Neighbours of one general category.
struct Run {
  CodePointSet::Range points;
  Name category;
};

/// All code points but the surrogates.
const std::vector<Run>& categories() {
  static const auto& made = *new const std::vector<Run>([] {
    std::vector<Name> all(kLastPoint + 1);
    for (char32_t c = 0; c <= kLastPoint; ++c)
      all[c] = name_of(utf8proc_category_string(static_cast<utf8proc_int32_t>(c)));
    for (const auto& range : unicode_categories::kCategories)
      std::fill(all.begin() + range.first, all.begin() + range.last + 1, name_of(range.name));
    std::vector<Run> out;
    for (char32_t c = 0; c <= kLastPoint; ++c) {
      if (c == kSurrogates.first) c = kSurrogates.last + 1;
      const char32_t first = c;
      while (c < kLastPoint && c + 1 != kSurrogates.first && all[c + 1] == all[first]) ++c;
      out.push_back({{first, c}, all[first]});
    }
    return out;
  }());
  return made;
}

template <class Holds>
CodePointSet set_of(Holds&& holds) {
  CodePointSet out;
  for (char32_t c = 0; c <= kLastPoint; ++c) {
    if (c == kSurrogates.first) c = kSurrogates.last + 1;
    if (!holds(c)) continue;
    const char32_t first = c;
    while (c < kLastPoint && c + 1 != kSurrogates.first && holds(c + 1)) ++c;
    out.add(first, c);
  }
  return out;
}

/// "L" or "Lu".
CodePointSet category_set(std::string_view name) {
  CodePointSet out;
  for (const auto& [points, category] : categories())
    if (category[0] == name[0] && (name.size() == 1 || category[1] == name[1])) out.add(points.first, points.last);
  return out;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 37> kLongNames{{
    {"letter", "L"},
    {"uppercaseletter", "Lu"},
    {"lowercaseletter", "Ll"},
    {"titlecaseletter", "Lt"},
    {"modifierletter", "Lm"},
    {"otherletter", "Lo"},
    {"mark", "M"},
    {"nonspacingmark", "Mn"},
    {"spacingmark", "Mc"},
    {"enclosingmark", "Me"},
    {"number", "N"},
    {"decimalnumber", "Nd"},
    {"letternumber", "Nl"},
    {"othernumber", "No"},
    {"punctuation", "P"},
    {"connectorpunctuation", "Pc"},
    {"dashpunctuation", "Pd"},
    {"openpunctuation", "Ps"},
    {"closepunctuation", "Pe"},
    {"initialpunctuation", "Pi"},
    {"finalpunctuation", "Pf"},
    {"otherpunctuation", "Po"},
    {"symbol", "S"},
    {"mathsymbol", "Sm"},
    {"currencysymbol", "Sc"},
    {"modifiersymbol", "Sk"},
    {"othersymbol", "So"},
    {"separator", "Z"},
    {"spaceseparator", "Zs"},
    {"lineseparator", "Zl"},
    {"paragraphseparator", "Zp"},
    {"other", "C"},
    {"control", "Cc"},
    {"format", "Cf"},
    {"privateuse", "Co"},
    {"unassigned", "Cn"},
    {"surrogate", "Cs"},
}};

std::string simplified(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != ' ' && c != '-' && c != '_') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 0x20) : c;
  return out;
}

}  // namespace

void CodePointSet::add(char32_t first, char32_t last) {
  if (first > last) return;
  // The usual case: behind all that is there.
  if (ranges_.empty() || first > ranges_.back().last + 1) return ranges_.push_back({first, last});
  const auto begin = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                      [](const Range& range, char32_t point) { return range.last + 1 < point; });
  auto end = begin;
  for (; end != ranges_.end() && end->first <= last + 1; ++end) {
    first = std::min(first, end->first);
    last = std::max(last, end->last);
  }
  ranges_.insert(ranges_.erase(begin, end), {first, last});
}

void CodePointSet::add(const CodePointSet& other) {
  for (const Range& range : other.ranges_) add(range.first, range.last);
}

CodePointSet CodePointSet::common(const CodePointSet& other) const {
  CodePointSet out;
  for (auto a = ranges_.begin(), b = other.ranges_.begin(); a != ranges_.end() && b != other.ranges_.end();) {
    out.add(std::max(a->first, b->first), std::min(a->last, b->last));
    if (a->last < b->last)
      ++a;
    else
      ++b;
  }
  return out;
}

CodePointSet CodePointSet::complement() const {
  CodePointSet out;
  char32_t next = 0;
  const auto leave_out = [&](const Range& range) {
    if (next < range.first) out.add(next, range.first - 1);
    next = std::max<char32_t>(next, range.last + 1);
  };
  CodePointSet holes = *this;
  holes.add(kSurrogates.first, kSurrogates.last);
  for (const Range& range : holes.ranges_) leave_out(range);
  if (next <= kLastPoint) out.add(next, kLastPoint);
  return out;
}

bool CodePointSet::contains(char32_t point) const {
  const auto found = std::lower_bound(ranges_.begin(), ranges_.end(), point,
                                      [](const Range& range, char32_t at) { return range.last < at; });
  return found != ranges_.end() && found->first <= point;
}

std::optional<CodePointSet> property_set(std::string_view name) {
  const std::string wanted = simplified(name);
  if (wanted == "any") return CodePointSet().complement();
  for (const auto& [long_name, short_name] : kLongNames)
    if (wanted == long_name || wanted == simplified(short_name)) return category_set(short_name);
  for (const auto& script : unicode_categories::kScripts) {
    if (wanted != script.name) continue;
    CodePointSet out;
    std::for_each(script.begin, script.end, [&out](const auto& range) { out.add(range.first, range.last); });
    return out;
  }
  return std::nullopt;
}

const CodePointSet& word_set() {
  static const auto& made = *new const CodePointSet([] {
    CodePointSet out;
    for (const std::string_view name : {"L", "M", "Nd", "Nl", "Pc"}) out.add(category_set(name));
    for (const auto& range : unicode_categories::kWord) out.add(range.first, range.last);
    return out;
  }());
  return made;
}

const CodePointSet& white_space_set() {
  static const auto& made = *new const CodePointSet(set_of([](char32_t c) { return is_white_space(c); }));
  return made;
}

}  // namespace tape::text
