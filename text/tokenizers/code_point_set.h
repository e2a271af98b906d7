#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace tape::text {

/// A set of code points up to U+10FFFF, as ranges in order that neither touch nor overlap.
class CodePointSet {
 public:
  static constexpr char32_t kLast = 0x10FFFF;
  struct Range {
    char32_t first, last;
  };

  /// Adds first to last, both included.
  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  /// What both hold.
  CodePointSet common(const CodePointSet& other) const;
  /// What this does not hold, surrogates left out.
  CodePointSet complement() const;
  bool contains(char32_t point) const;
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

/// The code points with a property, as the regular expressions of tokenizers know them: a general category by its short
/// or long name (`L`, `Lu`, `letter`, `uppercase_letter`), `any`, or one of some scripts (`Han`, `Latin`). Blanks, `-`,
/// `_` and upper case do not count. Nothing for other names.
std::optional<CodePointSet> property_set(std::string_view name);

/// `\w`: letters, marks, decimal and letter numbers, connectors, and the letters in circles and squares.
const CodePointSet& word_set();
/// `\s`: White_Space.
const CodePointSet& white_space_set();

}  // namespace tape::text
