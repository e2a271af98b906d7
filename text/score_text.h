#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

// What the translation scores share: text as code points, words, counted n-grams.
namespace tape::text {

/// The code points of a text; what is no UTF-8 is U+FFFD.
std::u32string to_code_points(std::string_view text);

/// What Python takes for white space: Unicode's, and the separators U+001C to U+001F.
bool is_blank(char32_t point);

/// Without the white space at the end.
std::u32string_view trim_end(std::u32string_view text);

/// Lower case by Unicode's rules for whole texts: a capital sigma at a word's end becomes ς, U+0130 two code points.
std::u32string lower_case(std::u32string_view text);

/// The stretches between white space.
std::vector<std::u32string_view> split_words(std::u32string_view text);

/// Numbers for the words of one hypothesis and its references, so that n-grams of words are short texts themselves.
class WordNumbers {
 public:
  char32_t of(std::u32string_view word) {
    return numbers_.try_emplace(std::u32string(word), static_cast<char32_t>(numbers_.size())).first->second;
  }

 private:
  std::unordered_map<std::u32string, char32_t> numbers_;
};

/// N-grams of one length in ascending order, each with how often it occurs. They point into the text.
using NgramCounts = std::vector<std::pair<std::u32string_view, int64_t>>;

NgramCounts count_ngrams(std::u32string_view text, size_t length);

/// The sum over n-grams of the smaller count.
int64_t common_ngrams(const NgramCounts& a, const NgramCounts& b);

/// For each n-gram the larger count.
NgramCounts merge_ngrams(const NgramCounts& a, const NgramCounts& b);

/// Every n-gram, as often as it occurs.
int64_t total_ngrams(const NgramCounts& counts);

/// Error (config) when there is no hypothesis or no set of references, Error (shape) when a set has another size.
void check_references(std::string_view score, std::span<const std::string> hypotheses,
                      std::span<const std::vector<std::string>> references);

/// What the version in a signature says.
std::string score_version();

}  // namespace tape::text
