#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The built-in translation task: German number words to English ones, 0 to 999,999, made by rule.
///
/// German puts the unit before the ten and writes one word ("dreiundvierzigtausendsiebzehn"), English does neither
/// ("forty-three thousand seventeen"): a small task that cannot be done word by word.
namespace tape::text {

/// The largest number of the task.
inline constexpr int64_t largest_number = 999'999;

/// The number in German, one lower-case word: 101 is "einhunderteins", 21000 is "einundzwanzigtausend".
///
/// Errors: ErrorKind::config outside 0 to 999,999.
std::string german_number(int64_t n);

/// The number in American English, without "and": 43105 is "forty-three thousand one hundred five".
///
/// Errors: ErrorKind::config outside 0 to 999,999.
std::string english_number(int64_t n);

/// The morphemes of a German number word: the longest of german_tokens() at each place, from left to right.
///
/// What is no morpheme stays together as one token, so that joining always gives the text back.
std::vector<std::string> split_german(std::string_view text);
std::string join_german(std::span<const std::string> tokens);

/// The words of an English number; a hyphen is a token of its own ("forty" "-" "three" stands over against the German
/// "drei" "und" "vierzig"). Joining puts one space between tokens, except around a hyphen.
///
/// join_english(split_english(x)) is x for every text without doubled, leading or trailing spaces or spaces at hyphens.
std::vector<std::string> split_english(std::string_view text);
std::string join_english(std::span<const std::string> tokens);

/// Every token that the numbers 0 to 999,999 are made of, in the order of their values.
const std::vector<std::string>& german_tokens();
const std::vector<std::string>& english_tokens();

/// True for the numbers kept away from training, about 5%: those whose 64-bit mix (splitmix64's finalizer, the same
/// on every machine and in every version) falls into one twentieth of its range. 0 is always for training: no other
/// number holds the word "null".
bool held_out(int64_t n);

/// Which of the two disjoint sets of numbers.
enum class Split { train, held_out };

/// An endless stream of numbers of one split, balanced over magnitudes.
///
/// Nine of ten numbers below a million have six digits. So one draw in two is uniform over 0 to 999,999 and the other
/// draws the number of digits first, uniform over 1 to 6, then a number of that length; draws of the other split are
/// repeated. Draw k depends on seed and k only, so (seed, position) is the whole state.
class NumberSampler {
 public:
  NumberSampler(Split split, uint64_t seed, uint64_t position = 0) : split_(split), seed_(seed), position_(position) {}

  int64_t next();

  uint64_t seed() const { return seed_; }
  /// Random values used so far; a sampler made with it goes on where this one stands.
  uint64_t position() const { return position_; }

 private:
  uint64_t random();

  Split split_;
  uint64_t seed_;
  uint64_t position_;
};

/// `count` different held-out numbers in random order, uniform over all of them: the set an exact-match score is
/// taken over. All of them when there are fewer.
///
/// Errors: ErrorKind::config when count is negative.
std::vector<int64_t> held_out_sample(int64_t count, uint64_t seed);

}  // namespace tape::text
