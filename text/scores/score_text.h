#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// Helpers shared by the translation scores: code points, words, n-gram counts.
namespace tape::text {

/// Code points of a text; invalid UTF-8 becomes U+FFFD.
std::u32string to_code_points(std::string_view text);

/// Python's definition of white space: Unicode's, and the separators U+001C to U+001F.
bool is_python_space(char32_t point);

/// Removes white space at the end.
std::u32string_view trim_end(std::u32string_view text);

/// Lowercases by Unicode's rules for strings: a final capital sigma becomes ς, U+0130 becomes two code points.
std::u32string lower_case(std::u32string_view text);

/// Splits at white space.
std::vector<std::u32string_view> split_words(std::u32string_view text);

/// Numbers the words of one hypothesis and its references, so that word n-grams are short strings too.
class WordIndex {
 public:
  char32_t of(std::u32string_view word) {
    return numbers_.try_emplace(std::u32string(word), static_cast<char32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::u32string, char32_t> numbers_;
};

/// N-grams of one length in ascending order with their counts. They point into the text.
using NgramCounts = std::vector<std::pair<std::u32string_view, int64_t>>;

NgramCounts count_ngrams(std::u32string_view text, size_t length);

/// Sum over n-grams of the smaller count.
int64_t common_ngrams(const NgramCounts& a, const NgramCounts& b);

/// The larger count of each n-gram.
NgramCounts merge_ngrams(const NgramCounts& a, const NgramCounts& b);

/// Total count of all n-grams.
int64_t total_ngrams(const NgramCounts& counts);

/// Throws Error (config) if there are no hypotheses or no reference sets, and Error (shape) for a set of another size.
void check_references(std::string_view score, std::span<const std::string> hypotheses,
                      std::span<const std::vector<std::string>> references);

/// The version field of a signature.
std::string score_version();

}  // namespace tape::text
