#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "code_point_set.h"

namespace tape::text {

/// Reads the parts of a regular expression that stand for one code point: escapes and classes in brackets.
class ClassReader {
 public:
  using Fail = std::function<void(size_t at, const std::string& what)>;  ///< raises
  ClassReader(std::string_view expression, size_t& at, const Fail& fail)
      : expression_(expression), at_(at), fail_(fail) {}

  /// An escape behind its backslash: the code points that it matches. Nothing, and nothing is read, for one that is no
  /// such escape, as `\b`.
  std::optional<CodePointSet> escape();
  /// A class behind its `[`, up to and with its `]`. `negated` says that it holds what the set does not.
  CodePointSet bracket(bool& negated);
  /// The code point that stands there.
  char32_t literal();

 private:
  CodePointSet bracket_items(int depth, bool& negated);
  CodePointSet nested(int depth);
  CodePointSet posix();
  CodePointSet item(std::optional<char32_t>& single);
  CodePointSet property(bool inverted);
  char32_t number(int base, size_t digits);
  char32_t hexadecimal(char kind);
  bool take(std::string_view text);
  char peek() const { return at_ < expression_.size() ? expression_[at_] : '\0'; }

  std::string_view expression_;
  size_t& at_;
  const Fail& fail_;
};

/// A set as a class of PCRE2.
std::string written(const CodePointSet& set, bool negated = false);

}  // namespace tape::text
