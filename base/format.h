#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

// Format strings of fmt for headers, which do not include fmt: programs that use the library need neither its headers
// nor the time to compile them.
namespace tape {

/// An argument of a format string: a bool, a character, a number, a text or a pointer. Refers to the text.
class FormatArgument {
 public:
  enum class Kind { boolean, character, integer, unsigned_integer, f32, f64, text, pointer };

  template <class T>
  static constexpr Kind kind_of() {
    if constexpr (std::same_as<T, bool>)
      return Kind::boolean;
    else if constexpr (std::same_as<T, char>)
      return Kind::character;
    else if constexpr (std::integral<T>)
      return std::is_signed_v<T> ? Kind::integer : Kind::unsigned_integer;
    else if constexpr (std::floating_point<T>)
      return std::same_as<T, float> ? Kind::f32 : Kind::f64;
    else if constexpr (std::convertible_to<const T&, std::string_view>)
      return Kind::text;
    else
      return Kind::pointer;
  }

  template <class T>
  FormatArgument(const T& value) : kind(kind_of<T>()) {
    if constexpr (kind_of<T>() == Kind::boolean || kind_of<T>() == Kind::character)
      unsigned_integer = static_cast<unsigned char>(value);
    else if constexpr (kind_of<T>() == Kind::integer)
      integer = value;
    else if constexpr (kind_of<T>() == Kind::unsigned_integer)
      unsigned_integer = value;
    else if constexpr (std::floating_point<T>)
      real = static_cast<double>(value);
    else if constexpr (kind_of<T>() == Kind::text)
      text = value;
    else {
      static_assert(std::convertible_to<const T&, const void*>, "write to_string(value)");
      pointer = value;
    }
  }

  Kind kind;
  union {
    int64_t integer;
    uint64_t unsigned_integer;
    double real;
    std::string_view text;
    const void* pointer;
  };
};

/// A format string for arguments of these types. A wrong number of fields, or a field that does not fit the type of its
/// argument, does not compile.
template <class... Args>
class FormatString {
 public:
  template <class Text>
    requires std::convertible_to<const Text&, std::string_view>
  consteval FormatString(const Text& text) : text_(text) {
    constexpr std::array<FormatArgument::Kind, sizeof...(Args)> kinds{FormatArgument::kind_of<Args>()...};
    size_t field = 0;
    for (size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] == '}' && (++at == text_.size() || text_[at] != '}')) throw "a } without its {; write }} for a }";
      if (text_[at] != '{') continue;
      if (++at == text_.size()) throw "a { without its }; write {{ for a {";
      if (text_[at] == '{') continue;
      const size_t end = text_.find('}', at);
      if (end == std::string_view::npos) throw "a { without its }; write {{ for a {";
      if (field == kinds.size()) throw "more fields than arguments";
      if (!fits(kinds[field++], text_.substr(at, end - at))) throw "a field does not fit its argument";
      at = end;
    }
    if (field != kinds.size()) throw "more arguments than fields";
  }

  constexpr std::string_view text() const { return text_; }

 private:
  /// `field` is what stands between the braces: empty, or a colon and fmt's specification.
  static constexpr bool fits(FormatArgument::Kind kind, std::string_view field) {
    using enum FormatArgument::Kind;
    if (field.empty()) return true;
    if (field[0] != ':' || field.find('{') != std::string_view::npos) return false;
    const char type = field.back();
    if (std::string_view("dxXob").find(type) != std::string_view::npos)
      return kind == integer || kind == unsigned_integer;
    if (std::string_view("aAeEfFgG").find(type) != std::string_view::npos) return kind == f32 || kind == f64;
    if (field.find('.') != std::string_view::npos) return kind == f32 || kind == f64 || kind == text;
    return type != 's' || kind == text;
  }

  std::string_view text_;
};

/// The formatted text. Throws std::logic_error for a specification that fmt does not know.
std::string format_text(std::string_view format, std::span<const FormatArgument> arguments);

}  // namespace tape
