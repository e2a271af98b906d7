#include "text/corpus/number_words.h"

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/split_mix.h"

namespace tape::text {
namespace {

using Words = std::array<std::string_view, 20>;

constexpr Words german_small = {"null",     "eins",     "zwei",     "drei",     "vier",     "fünf",    "sechs",
                                "sieben",   "acht",     "neun",     "zehn",     "elf",      "zwölf",   "dreizehn",
                                "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"};
constexpr std::array<std::string_view, 10> german_tens = {"",        "",        "zwanzig", "dreißig", "vierzig",
                                                          "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"};
constexpr Words english_small = {"zero",     "one",     "two",     "three",     "four",     "five",    "six",
                                 "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",  "thirteen",
                                 "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"};
constexpr std::array<std::string_view, 10> english_tens = {"",      "",      "twenty",  "thirty", "forty",
                                                           "fifty", "sixty", "seventy", "eighty", "ninety"};

std::string_view word(std::span<const std::string_view> words, int64_t n) { return words[static_cast<std::size_t>(n)]; }

void check_range(std::string_view function, int64_t n) {
  if (n < 0 || n > largest_number) raise(ErrorKind::config, "{}: {} is not in 0..{}", function, n, largest_number);
}

// 1 to 999. One is "eins" at the end of the whole word and "ein" before another part.
std::string german_below_thousand(int64_t n, bool at_end) {
  std::string out;
  const auto unit = [](int64_t u) { return u == 1 ? std::string_view("ein") : word(german_small, u); };
  if (n >= 100) out.append(unit(n / 100)).append("hundert");
  const int64_t rest = n % 100;
  if (rest == 0) return out;
  if (rest < 20) return out.append(at_end ? word(german_small, rest) : unit(rest));
  if (rest % 10 != 0) out.append(unit(rest % 10)).append("und");
  return out.append(word(german_tens, rest / 10));
}

void append_word(std::string& text, std::string_view next) {
  if (!text.empty()) text += ' ';
  text += next;
}

// 0 to 999; "" for 0.
void append_english_below_thousand(std::string& out, int64_t n) {
  if (n >= 100) {
    append_word(out, word(english_small, n / 100));
    append_word(out, "hundred");
  }
  const int64_t rest = n % 100;
  if (rest == 0) return;
  if (rest < 20) return append_word(out, word(english_small, rest));
  append_word(out, word(english_tens, rest / 10));
  if (rest % 10 != 0) out.append("-").append(word(english_small, rest % 10));
}

}  // namespace

std::string german_number(int64_t n) {
  check_range("german_number", n);
  if (n == 0) return std::string(german_small[0]);
  std::string out;
  if (n >= 1000) out = german_below_thousand(n / 1000, false) + "tausend";
  if (n % 1000 != 0) out += german_below_thousand(n % 1000, true);
  return out;
}

std::string english_number(int64_t n) {
  check_range("english_number", n);
  if (n == 0) return std::string(english_small[0]);
  std::string out;
  if (n >= 1000) {
    append_english_below_thousand(out, n / 1000);
    append_word(out, "thousand");
  }
  append_english_below_thousand(out, n % 1000);
  return out;
}

bool held_out(int64_t n) {
  constexpr uint64_t one_twentieth = std::numeric_limits<uint64_t>::max() / 20;
  return n != 0 && split_mix(static_cast<uint64_t>(n) + kSplitMixGamma) < one_twentieth;
}

std::vector<int64_t> training_sample(int64_t count, uint64_t seed) {
  if (count < 0) raise(ErrorKind::config, "training_sample: count {} is negative", count);
  constexpr std::array<int64_t, 8> first_of_length = {0, 0, 10, 100, 1'000, 10'000, 100'000, largest_number + 1};
  uint64_t position = 0;
  const auto random = [&] { return split_mix(split_mix(seed + kSplitMixGamma) + ++position * kSplitMixGamma); };
  std::vector<int64_t> numbers;
  while (std::ssize(numbers) < count) {
    int64_t low = 0;
    int64_t high = largest_number + 1;
    if (random() % 2 == 1) {
      const std::size_t digits = 1 + random() % 6;
      low = first_of_length[digits];
      high = first_of_length[digits + 1];
    }
    // The modulo bias is below 10^6 / 2^64.
    const int64_t n = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
    if (!held_out(n)) numbers.push_back(n);
  }
  return numbers;
}

std::vector<int64_t> held_out_sample(int64_t count, uint64_t seed) {
  if (count < 0) raise(ErrorKind::config, "held_out_sample: count {} is negative", count);
  std::vector<int64_t> numbers;
  for (int64_t n = 0; n <= largest_number; ++n) {
    if (held_out(n)) numbers.push_back(n);
  }
  // A partial Fisher-Yates shuffle.
  const std::size_t wanted = std::min(static_cast<std::size_t>(count), numbers.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    const uint64_t draw = split_mix(split_mix(seed + kSplitMixGamma) + (i + 1) * kSplitMixGamma);
    std::swap(numbers[i], numbers[i + draw % (numbers.size() - i)]);
  }
  numbers.resize(wanted);
  return numbers;
}

}  // namespace tape::text
