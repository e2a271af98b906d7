#include "base/json_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "base/utf8.h"

namespace tape {
namespace {

void append_quoted(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : replace_invalid_utf8(text)) {
    constexpr std::string_view kEscaped = "\"\\\b\f\n\r\t", kLetters = "\"\\bfnrt";
    if (const size_t at = kEscaped.find(c); at != std::string_view::npos) {
      out += '\\';
      out += kLetters[at];
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string number_of(double value) {
  if (!std::isfinite(value)) return "null";
  // As nlohmann-json, which writes an exponent from 1e15 on; fmt does from 1e16 on.
  if (std::abs(value) >= 1e15 && std::abs(value) < 1e16) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific).ptr;
    return {text.data(), end};
  }
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Dump {
 public:
  explicit Dump(int indent) : indent_(indent) {}

  void operator()(std::monostate) { text_ += "null"; }
  void operator()(bool value) { text_ += value ? "true" : "false"; }
  void operator()(int64_t value) { text_ += std::to_string(value); }
  void operator()(uint64_t value) { text_ += std::to_string(value); }
  void operator()(double value) { text_ += number_of(value); }
  void operator()(const std::string& value) { append_quoted(text_, value); }
  void operator()(const JsonValue::Array& values) {
    items('[', values, ']', [&](const JsonValue& value) { value.visit(*this); });
  }
  void operator()(const JsonValue::Object& members) {
    items('{', members, '}', [&](const auto& member) {
      append_quoted(text_, member.first);
      text_ += indent_ < 0 ? ":" : ": ";
      member.second.visit(*this);
    });
  }
  std::string take() { return std::move(text_); }

 private:
  template <class Items, class Item>
  void items(char open, const Items& values, char close, const Item& append) {
    text_ += open;
    ++depth_;
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ',';
      new_line();
      append(values[i]);
    }
    --depth_;
    if (!values.empty()) new_line();
    text_ += close;
  }
  void new_line() {
    if (indent_ >= 0) text_ += '\n' + std::string(depth_ * static_cast<size_t>(indent_), ' ');
  }

  int indent_;
  size_t depth_ = 0;
  std::string text_;
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
 public:
  Parser(std::string_view text, JsonChecks& checks) : text_(text), checks_(checks) {}

  JsonValue whole() {
    JsonValue parsed = value();
    skip_blanks();
    if (at_ != text_.size()) checks_.invalid(at_);
    return parsed;
  }

 private:
  /// The next byte; 0, which no valid text contains here, at the end.
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) checks_.invalid(at_);
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

  JsonValue value() {
    skip_blanks();
    switch (peek()) {
      case '{':
        return object();
      case '[':
        return array();
      case '"':
        return string();
      case 't':
        return word("true", true);
      case 'f':
        return word("false", false);
      case 'n':
        return word("null", {});
      default:
        return number();
    }
  }
  JsonValue word(std::string_view letters, JsonValue meaning) {
    for (const char letter : letters) expect(letter);
    return meaning;
  }
  JsonValue object() {
    JsonValue::Object members;
    open();
    for (bool more = !accept('}'); more;) {
      skip_blanks();
      if (peek() != '"') checks_.invalid(at_);
      std::string name = string();
      checks_.key(name);
      skip_blanks();
      expect(':');
      JsonValue member = value();
      members.emplace_back(std::move(name), std::move(member));
      more = next('}');
    }
    close();
    return members;
  }
  JsonValue array() {
    JsonValue::Array values;
    open();
    for (bool more = !accept(']'); more;) {
      values.push_back(value());
      more = next(']');
    }
    close();
    return values;
  }
  void open() {
    ++at_;
    checks_.opens(depth_++);
    skip_blanks();
  }
  void close() {
    --depth_;
    checks_.closes();
  }
  /// Whether a comma, and not the end, follows.
  bool next(char end) {
    skip_blanks();
    if (accept(end)) return false;
    expect(',');
    return true;
  }

  std::string string() {
    std::string read;
    for (++at_; !accept('"');) {
      if (static_cast<unsigned char>(peek()) < 0x20) checks_.invalid(at_);
      if (accept('\\'))
        append_utf8(escaped(), read);
      else
        read += text_[at_++];
    }
    return read;
  }
  char32_t escaped() {
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    if (const size_t letter = kLetters.find(peek()); letter != std::string_view::npos && at_ < text_.size()) {
      ++at_;
      return static_cast<char32_t>(kMeanings[letter]);
    }
    expect('u');
    const char32_t first = code_unit();
    if (first < 0xD800 || first > 0xDFFF) return first;
    const size_t pair = at_;
    if (first > 0xDBFF) checks_.invalid(at_ - 1);
    expect('\\');
    expect('u');
    const char32_t second = code_unit();
    if (second < 0xDC00 || second > 0xDFFF) checks_.invalid(pair);
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
  }
  /// Four hexadecimal digits.
  char32_t code_unit() {
    uint32_t unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      uint32_t digit = 0;
      if (at_ == text_.size() || std::from_chars(&text_[at_], &text_[at_] + 1, digit, 16).ec != std::errc())
        checks_.invalid(at_);
      unit = 16 * unit + digit;
    }
    return unit;
  }

  void digits() {
    if (!is_digit(peek())) checks_.invalid(at_);
    while (is_digit(peek())) ++at_;
  }
  JsonValue number() {
    const size_t begin = at_;
    const bool negative = accept('-');
    if (!accept('0')) digits();
    bool whole = true;
    if (accept('.')) {
      whole = false;
      digits();
    }
    if (accept('e') || accept('E')) {
      whole = false;
      if (!accept('+')) accept('-');
      digits();
    }
    const char *first = &text_[begin], *last = text_.data() + at_;
    if (uint64_t value = 0; whole && !negative && std::from_chars(first, last, value).ec == std::errc()) return value;
    if (int64_t value = 0; whole && negative && std::from_chars(first, last, value).ec == std::errc()) return value;
    return real(std::string(first, last));
  }
  JsonValue real(const std::string& digits) {
    const double value = std::strtod(digits.c_str(), nullptr);
    if (!std::isfinite(value)) checks_.out_of_range();
    return value;
  }

  std::string_view text_;
  JsonChecks& checks_;
  size_t at_ = 0, depth_ = 0;
};

}  // namespace

const char* JsonValue::type_name() const {
  constexpr const char* kNames[] = {"null", "boolean", "number", "number", "number", "string", "array", "object"};
  return kNames[value_.index()];
}

std::string JsonValue::dump(int indent) const {
  Dump dump(indent);
  visit(dump);
  return dump.take();
}

JsonValue parse_json_value(std::string_view text, JsonChecks& checks) { return Parser(text, checks).whole(); }

}  // namespace tape
