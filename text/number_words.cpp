#include "text/number_words.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"

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

// 1 to 999. One is "eins" at the end of the whole word and "ein" before anything that follows.
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

// 0 to 999, nothing for 0.
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

// The longest morpheme that the text (not empty) begins with, or nothing.
std::string_view longest_morpheme(std::string_view text) {
  using Tokens = std::vector<std::string_view>;
  static const auto& by_first_byte = *new const std::array<Tokens, 256>([] {
    std::array<Tokens, 256> table;
    for (std::string_view token : german_tokens()) table[static_cast<unsigned char>(token[0])].push_back(token);
    for (Tokens& tokens : table) std::ranges::sort(tokens, std::ranges::greater(), &std::string_view::size);
    return table;
  }());
  for (std::string_view token : by_first_byte[static_cast<unsigned char>(text[0])]) {
    if (text.starts_with(token)) return token;
  }
  return {};
}

// The finalizer of splitmix64 (Steele, Lea, Flood 2014, variant 13 of Stafford's mixers): a bijection of 64 bits.
constexpr uint64_t golden_gamma = 0x9E3779B97F4A7C15;
constexpr uint64_t splitmix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
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

std::vector<std::string> split_german(std::string_view text) {
  std::vector<std::string> tokens;
  bool unknown = false;  // the last token is a stretch of code points that belong to no morpheme
  while (!text.empty()) {
    const std::string_view morpheme = longest_morpheme(text);
    const std::string_view piece = morpheme.empty() ? code_points(text.substr(0, 4)).front() : morpheme;
    if (unknown && morpheme.empty()) {
      tokens.back() += piece;
    } else {
      tokens.emplace_back(piece);
    }
    unknown = morpheme.empty();
    text.remove_prefix(piece.size());
  }
  return tokens;
}

std::string join_german(std::span<const std::string> tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

std::vector<std::string> split_english(std::string_view text) {
  std::vector<std::string> tokens;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" -"), text.size());
    if (end > 0) tokens.emplace_back(text.substr(0, end));
    if (end < text.size() && text[end] == '-') tokens.emplace_back("-");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return tokens;
}

std::string join_english(std::span<const std::string> tokens) {
  std::string text;
  for (const std::string& token : tokens) {
    if (!text.empty() && text.back() != '-' && token != "-") text += ' ';
    text += token;
  }
  return text;
}

const std::vector<std::string>& german_tokens() {
  // "sech" and "sieb" stand before "zehn" only; sechzig, siebzig and the other tens are one token each.
  static const auto& tokens = *new const std::vector<std::string>(
      {"null",    "ein",     "eins",    "zwei",    "drei",    "vier",    "fünf",  "sech",    "sechs",
       "sieb",    "sieben",  "acht",    "neun",    "zehn",    "elf",     "zwölf", "zwanzig", "dreißig",
       "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig", "und",   "hundert", "tausend"});
  return tokens;
}

const std::vector<std::string>& english_tokens() {
  static const auto& tokens = *new const std::vector<std::string>([] {
    std::vector<std::string> all(english_small.begin(), english_small.end());
    all.insert(all.end(), english_tens.begin() + 2, english_tens.end());
    all.insert(all.end(), {"-", "hundred", "thousand"});
    return all;
  }());
  return tokens;
}

bool held_out(int64_t n) {
  constexpr uint64_t one_twentieth = std::numeric_limits<uint64_t>::max() / 20;
  return n != 0 && splitmix(static_cast<uint64_t>(n) + golden_gamma) < one_twentieth;
}

uint64_t NumberSampler::random() { return splitmix(splitmix(seed_ + golden_gamma) + ++position_ * golden_gamma); }

int64_t NumberSampler::next() {
  constexpr std::array<int64_t, 7> first_of_length = {0, 0, 10, 100, 1'000, 10'000, 100'000};
  for (;;) {
    int64_t low = 0;
    int64_t high = largest_number + 1;
    if (random() % 2 == 1) {
      const std::size_t digits = 1 + random() % 6;
      low = first_of_length[digits];
      high = digits == 6 ? high : first_of_length[digits + 1];
    }
    // The remainder's bias is below 10^6 / 2^64: nothing that a sample could show.
    const int64_t n = low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low));
    if (held_out(n) == (split_ == Split::held_out)) return n;
  }
}

std::vector<int64_t> held_out_sample(int64_t count, uint64_t seed) {
  if (count < 0) raise(ErrorKind::config, "held_out_sample: count {} is negative", count);
  std::vector<int64_t> numbers;
  for (int64_t n = 0; n <= largest_number; ++n) {
    if (held_out(n)) numbers.push_back(n);
  }
  // The first places of a Fisher-Yates shuffle.
  const std::size_t wanted = std::min(static_cast<std::size_t>(count), numbers.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    const uint64_t draw = splitmix(splitmix(seed + golden_gamma) + (i + 1) * golden_gamma);
    std::swap(numbers[i], numbers[i + draw % (numbers.size() - i)]);
  }
  numbers.resize(wanted);
  return numbers;
}

}  // namespace tape::text
