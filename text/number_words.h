#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A small translation task made by rule: German number words to English ones, 0 to 999,999.
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

/// True for the numbers kept away from training, about 5%: those whose 64-bit mix (splitmix64's finalizer, the same
/// on every machine and in every version) falls into one twentieth of its range. 0 is always for training: no other
/// number holds the word "null".
bool held_out(int64_t n);

/// `count` numbers to train with, balanced over magnitudes, with repetitions.
///
/// Nine of ten numbers below a million have six digits. So one draw in two is uniform over 0 to 999,999 and the other
/// draws the number of digits first, uniform over 1 to 6, then a number of that length; held-out numbers are drawn
/// again. The same numbers for the same seed, on every machine.
///
/// Errors: ErrorKind::config when count is negative.
std::vector<int64_t> training_sample(int64_t count, uint64_t seed);

/// `count` different held-out numbers in random order, uniform over all of them: the set an exact-match score is
/// taken over. All of them when there are fewer.
///
/// Errors: ErrorKind::config when count is negative.
std::vector<int64_t> held_out_sample(int64_t count, uint64_t seed);

}  // namespace tape::text
