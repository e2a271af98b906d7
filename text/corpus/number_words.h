#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// A small synthetic translation task: German number words to English, 0 to 999,999.
///
/// German puts the unit before the ten and writes one word ("dreiundvierzigtausendsiebzehn"), English does neither
/// ("forty-three thousand seventeen"), so the task cannot be solved word by word.
namespace tape::text {

/// Largest number of the task.
inline constexpr int64_t largest_number = 999'999;

/// The number in German, as one lowercase word: 101 is "einhunderteins", 21000 is "einundzwanzigtausend".
///
/// Throws Error (config) outside 0 to 999,999.
std::string german_number(int64_t n);

/// The number in American English, without "and": 43105 is "forty-three thousand one hundred five".
///
/// Throws Error (config) outside 0 to 999,999.
std::string english_number(int64_t n);

/// Whether a number is held out from training, which is true for about 5%: those whose 64-bit hash (splitmix64's
/// finalizer, identical on every machine and in every version) is in one twentieth of its range. 0 is never held out,
/// as no other number contains the word "null".
bool held_out(int64_t n);

/// Draws `count` training numbers, balanced over magnitudes, with repetition.
///
/// Nine of ten numbers below a million have six digits. So every other draw is uniform over 0 to 999,999, and the
/// rest first draw the number of digits, uniform over 1 to 6, then a number of that length; held-out numbers are
/// redrawn. The same seed gives the same numbers on every machine.
///
/// Throws Error (config) if count is negative.
std::vector<int64_t> training_sample(int64_t count, uint64_t seed);

/// Draws `count` distinct held-out numbers in random order, uniformly: the test set for exact match. Returns all of
/// them if there are fewer.
///
/// Throws Error (config) if count is negative.
std::vector<int64_t> held_out_sample(int64_t count, uint64_t seed);

}  // namespace tape::text
