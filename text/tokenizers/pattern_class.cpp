#include "text/tokenizers/pattern_class.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace tape::text {
namespace {

constexpr int kDeepest = 50;

CodePointSet one(char32_t point) {
  CodePointSet out;
  out.add(point, point);
  return out;
}

CodePointSet named(std::string_view name) { return *property_set(name); }

const CodePointSet& hexadecimal_digits() {
  static const auto& made = *new const CodePointSet([] {
    CodePointSet out;
    out.add('0', '9');
    out.add('A', 'F');
    out.add('a', 'f');
    return out;
  }());
  return made;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
}

/// The code point that a letter behind a backslash stands for, 0 for others.
char32_t control_of(char letter) {
  constexpr std::string_view kLetters = "tnrfvae", kControls = "\t\n\r\f\v\a\x1B";
  const size_t found = kLetters.find(letter);
  return found == std::string_view::npos ? 0 : static_cast<char32_t>(kControls[found]);
}

}  // namespace

bool ClassReader::take(std::string_view text) {
  if (!expression_.substr(at_).starts_with(text)) return false;
  at_ += text.size();
  return true;
}

char32_t ClassReader::literal() {
  const CodePoint point = decode_utf8(expression_.substr(at_));
  at_ += point.length;
  return point.value;
}

char32_t ClassReader::number(int base, size_t digits) {
  char32_t value = 0;
  const size_t begin = at_;
  for (; at_ < begin + digits && digit_of(peek()) < base && value <= CodePointSet::kLast; ++at_)
    value = value * static_cast<char32_t>(base) + static_cast<char32_t>(digit_of(peek()));
  if (value > CodePointSet::kLast || (value >= 0xD800 && value < 0xE000)) fail_(begin, "is no code point");
  return value;
}

// Two digits stand for a byte in Oniguruma: one above 7F is a part of a character.
char32_t ClassReader::hexadecimal(char kind) {
  const size_t begin = at_;
  const bool braces = kind == 'x' && take("{");
  const char32_t value = number(16, braces ? 8 : kind == 'x' ? 2 : 4);
  if (at_ == begin + (braces ? 1 : 0) || (braces && !take("}"))) fail_(begin, "hexadecimal digits are missing");
  if (kind == 'x' && !braces && value > 0x7F) fail_(begin, "a byte of a character is not supported");
  if (kind == 'u' && at_ != begin + 4) fail_(begin, "four hexadecimal digits are needed");
  return value;
}

CodePointSet ClassReader::property(bool inverted) {
  const size_t begin = at_;
  if (!take("{")) fail_(begin, "a property needs braces, as in \\p{L}");
  if (take("^")) inverted = !inverted;
  const size_t end = expression_.find('}', at_);
  if (end == std::string_view::npos) fail_(begin, "the property has no end");
  const std::string_view name = expression_.substr(at_, end - at_);
  const std::optional<CodePointSet> found = property_set(name);
  if (!found) fail_(begin, fmt::format("the property \"{}\" is not supported", clipped(name, 40)));
  at_ = end + 1;
  return inverted ? found->complement() : *found;
}

std::optional<CodePointSet> ClassReader::escape() {
  const char kind = peek();
  if (control_of(kind) != 0) return ++at_, one(control_of(kind));
  ++at_;
  switch (kind) {
    case 'd':
      return named("Nd");
    case 'D':
      return named("Nd").complement();
    case 'w':
      return word_set();
    case 'W':
      return word_set().complement();
    case 's':
      return white_space_set();
    case 'S':
      return white_space_set().complement();
    case 'h':
      return hexadecimal_digits();
    case 'H':
      return hexadecimal_digits().complement();
    case 'p':
    case 'P':
      return property(kind == 'P');
    case 'x':
    case 'u':
      return one(hexadecimal(kind));
    case '0':
      return one(number(8, 2));
    default:
      --at_;
  }
  if (is_ascii_letter(kind) || (kind >= '1' && kind <= '9') || at_ == expression_.size()) return std::nullopt;
  return one(literal());
}

CodePointSet ClassReader::posix() {
  const size_t begin = at_;
  const bool inverted = take("^");
  for (const auto& [name, set] : {std::pair<std::string_view, CodePointSet>{"digit:]", named("Nd")},
                                  {"space:]", white_space_set()},
                                  {"word:]", word_set()},
                                  {"xdigit:]", hexadecimal_digits()},
                                  {"cntrl:]", named("C")}})
    if (take(name)) return inverted ? set.complement() : set;
  fail_(begin, "this POSIX bracket is not supported");
  return {};
}

/// One item of a class; `single` is the code point, where it is one, that may begin a range.
CodePointSet ClassReader::item(std::optional<char32_t>& single) {
  single.reset();
  const size_t begin = at_;
  if (!take("\\")) {
    single = literal();
    return one(*single);
  }
  if (take("b")) return one(*(single = U'\b'));
  const std::optional<CodePointSet> set = escape();
  if (!set) fail_(begin, "this escape is not supported in a class");
  const std::vector<CodePointSet::Range>& ranges = set->ranges();
  if (ranges.size() == 1 && ranges[0].first == ranges[0].last) single = ranges[0].first;
  return *set;
}

CodePointSet ClassReader::nested(int depth) {
  bool negated = false;
  const CodePointSet inner = bracket_items(depth + 1, negated);
  return negated ? inner.complement() : inner;
}

CodePointSet ClassReader::bracket_items(int depth, bool& negated) {
  const size_t begin = at_;
  if (depth > kDeepest) fail_(begin, "classes are nested too deep");
  negated = take("^");
  CodePointSet all, set;
  bool meets = false;  // behind a `&&`
  const auto meet = [&] {
    all = meets ? all.common(set) : set;
    set = {};
  };
  if (take("]")) set.add(']', ']');  // the first one is meant as it stands
  while (!take("]")) {
    if (at_ >= expression_.size()) fail_(begin, "the class has no end");
    if (take("&&")) {
      meet();
      meets = true;
    } else if (take("[:")) {
      set.add(posix());
    } else if (take("[")) {
      set.add(nested(depth));
    } else {
      std::optional<char32_t> first, last;
      set.add(item(first));
      const bool range = first && peek() == '-' && at_ + 1 < expression_.size() && expression_[at_ + 1] != ']';
      if (!range) continue;
      const size_t dash = at_++;
      item(last);
      if (!last) fail_(dash, "a range ends in one character");
      if (*last < *first) fail_(dash, "the range is empty");
      set.add(*first, *last);
    }
  }
  meet();
  return all;
}

CodePointSet ClassReader::bracket(bool& negated) { return bracket_items(0, negated); }

std::string written(const CodePointSet& set, bool negated) {
  if (set.ranges().empty()) return negated ? "(?s:.)" : "(?!)";
  std::string out = negated ? "[^" : "[";
  for (const CodePointSet::Range& range : set.ranges()) {
    out += fmt::format("\\x{{{:X}}}", static_cast<uint32_t>(range.first));
    if (range.last != range.first) out += fmt::format("-\\x{{{:X}}}", static_cast<uint32_t>(range.last));
  }
  return out + "]";
}

}  // namespace tape::text
