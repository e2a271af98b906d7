#include "text/scores/bleu.h"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <utf8proc.h>

#include "base/error.h"
#include "text/scores/score_text.h"

namespace tape::text {
namespace {

using Text = std::u32string;
using View = std::u32string_view;
using Class = bool (*)(char32_t);

constexpr std::array<std::string_view, 4> kTokenizerNames{"13a", "none", "intl", "char"};

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_no_digit(char32_t c) { return !is_digit(c); }
bool is_stop(char32_t c) { return c == '.' || c == ','; }
bool is_dash(char32_t c) { return c == '-'; }
/// ASCII symbols except ' , - and the full stop.
bool is_symbol_13a(char32_t c) {
  if (c == '\'' || c == ',' || c == '-' || c == '.') return false;
  return (c >= ' ' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// First letter of a code point's general category: L, M, N, P, S, Z or C.
char category(char32_t c) { return utf8proc_category_string(static_cast<utf8proc_int32_t>(c))[0]; }
bool is_no_number(char32_t c) { return category(c) != 'N'; }
bool is_punctuation(char32_t c) { return category(c) == 'P'; }
bool is_symbol(char32_t c) { return category(c) == 'S'; }

/// Puts spaces around every character of the class.
Text part_single(View text, Class what) {
  Text out;
  for (const char32_t c : text) {
    if (what(c)) {
      out.append({' ', c, ' '});
    } else {
      out.push_back(c);
    }
  }
  return out;
}

enum class Around { first, second };

/// Puts spaces around one character of each adjacent pair of two classes. Pairs are matched left to right without
/// overlap, as in a regular-expression replacement.
Text part_pairs(View text, Class first, Class second, Around around) {
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !first(text[i]) || !second(text[i + 1])) {
      out.push_back(text[i]);
    } else if (around == Around::first) {
      out.append({' ', text[i], ' ', text[i + 1]});
      ++i;
    } else {
      out.append({text[i], ' ', text[i + 1], ' '});
      ++i;
    }
  }
  return out;
}

void replace_all(Text& text, View what, View with) {
  for (size_t at = text.find(what); at != Text::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

Text separate_13a(View line) {
  Text text(line);
  replace_all(text, U"<skipped>", U"");
  replace_all(text, U"-\n", U"");
  replace_all(text, U"\n", U" ");
  replace_all(text, U"&quot;", U"\"");
  replace_all(text, U"&amp;", U"&");
  replace_all(text, U"&lt;", U"<");
  replace_all(text, U"&gt;", U">");
  Text padded = U" ";
  padded += text;
  padded += U' ';
  padded = part_single(padded, is_symbol_13a);
  padded = part_pairs(padded, is_no_digit, is_stop, Around::second);
  padded = part_pairs(padded, is_stop, is_no_digit, Around::first);
  return part_pairs(padded, is_digit, is_dash, Around::second);
}

Text separate_intl(View line) {
  const Text before = part_pairs(line, is_no_number, is_punctuation, Around::second);
  const Text behind = part_pairs(before, is_punctuation, is_no_number, Around::first);
  return part_single(behind, is_symbol);
}

/// Separates the words of a text by white space.
std::u32string separate_words(View text, BleuTokenizer tokenizer) {
  switch (tokenizer) {
    case BleuTokenizer::v13a:
      return separate_13a(text);
    case BleuTokenizer::intl:
      return separate_intl(text);
    case BleuTokenizer::character:
      return part_single(text, [](char32_t) { return true; });
    case BleuTokenizer::none:
      break;
  }
  return Text(text);
}

constexpr size_t kOrders = 4;

std::u32string numbered_words(const std::string& line, const BleuOptions& options, WordIndex& numbers) {
  std::u32string text = to_code_points(line);
  if (options.lowercase) text = lower_case(text);
  const std::u32string separated = separate_words(trim_end(text), options.tokenizer);
  std::u32string out;
  for (const std::u32string_view word : split_words(separated)) out.push_back(numbers.of(word));
  return out;
}

/// Adds the n-gram counts of one hypothesis.
void add_segment(const std::string& hypothesis, std::span<const std::string* const> references,
                 const BleuOptions& options, BleuScore& sums) {
  WordIndex numbers;
  const std::u32string words = numbered_words(hypothesis, options, numbers);
  std::vector<std::u32string> sides;
  const auto length = static_cast<int64_t>(words.size());
  int64_t nearest = std::numeric_limits<int64_t>::max();
  for (const std::string* reference : references) {
    sides.push_back(numbered_words(*reference, options, numbers));
    const auto other = static_cast<int64_t>(sides.back().size());
    const int64_t far = std::abs(other - length), least = std::abs(nearest - length);
    if (far < least || (far == least && other < nearest)) nearest = other;
  }
  sums.hyp_length += length;
  sums.ref_length += nearest;
  for (size_t n = 0; n < kOrders; ++n) {
    const NgramCounts counts = count_ngrams(words, n + 1);
    NgramCounts wanted = count_ngrams(sides.front(), n + 1);
    for (size_t i = 1; i < sides.size(); ++i) wanted = merge_ngrams(wanted, count_ngrams(sides[i], n + 1));
    sums.matches[n] += common_ngrams(counts, wanted);
    sums.totals[n] += total_ngrams(counts);
  }
}

double value_of(const BleuOptions& options) {
  return options.smoothing_value.value_or(options.smoothing == BleuSmoothing::add_k ? 1.0 : 0.1);
}

/// Computes precisions and score from the accumulated counts.
void finish(const BleuOptions& options, BleuScore& score) {
  if (score.hyp_length < score.ref_length) {
    const double ratio = static_cast<double>(score.ref_length) / static_cast<double>(score.hyp_length);
    score.brevity_penalty = score.hyp_length > 0 ? std::exp(1 - ratio) : 0;
  }
  if (score.matches == std::array<int64_t, kOrders>{}) return;
  size_t orders = kOrders;
  double power = 1;
  for (size_t n = 0; n < kOrders; ++n) {
    const double added = options.smoothing == BleuSmoothing::add_k && n > 0 ? value_of(options) : 0;
    const double matches = static_cast<double>(score.matches[n]) + added;
    const double total = static_cast<double>(score.totals[n]) + added;
    if (total == 0) break;
    if (options.effective_order) orders = n + 1;
    if (matches != 0) {
      score.precisions[n] = 100 * matches / total;
    } else if (options.smoothing == BleuSmoothing::exp) {
      power *= 2;
      score.precisions[n] = 100 / (power * total);
    } else if (options.smoothing == BleuSmoothing::floor) {
      score.precisions[n] = 100 * value_of(options) / total;
    }
  }
  double sum = 0;
  for (size_t n = 0; n < orders; ++n) sum += std::log(score.precisions[n]);  // log 0 = -infinity gives score 0
  score.score = score.brevity_penalty * std::exp(sum / static_cast<double>(orders));
}

std::string smoothing_name(const BleuOptions& options) {
  switch (options.smoothing) {
    case BleuSmoothing::exp:
      return "exp";
    case BleuSmoothing::none:
      return "none";
    case BleuSmoothing::floor:
      return fmt::format("floor[{:.2f}]", value_of(options));
    case BleuSmoothing::add_k:
      return fmt::format("add-k[{:.2f}]", value_of(options));
  }
  return "";
}

}  // namespace

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
               const BleuOptions& options) {
  check_references("bleu", hypotheses, references);
  if (!(value_of(options) >= 0) || std::isinf(value_of(options)))
    raise(ErrorKind::config, "bleu: smoothing_value must be a finite number of at least 0, got {}", value_of(options));
  BleuScore score;
  std::vector<const std::string*> sides(references.size());
  for (size_t line = 0; line < hypotheses.size(); ++line) {
    for (size_t set = 0; set < sides.size(); ++set) sides[set] = &references[set][line];
    add_segment(hypotheses[line], sides, options, score);
  }
  finish(options, score);
  score.signature =
      fmt::format("nrefs:{}|case:{}|eff:{}|tok:{}|smooth:{}|version:{}", references.size(),
                  options.lowercase ? "lc" : "mixed", options.effective_order ? "yes" : "no",
                  kTokenizerNames[static_cast<size_t>(options.tokenizer)], smoothing_name(options), score_version());
  return score;
}

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options) {
  const std::vector<std::string> set(references.begin(), references.end());
  return bleu(hypotheses, std::span(&set, 1), options);
}

std::string BleuScore::details() const {
  const double ratio = ref_length > 0 ? static_cast<double>(hyp_length) / static_cast<double>(ref_length) : 0;
  return fmt::format("{:.1f}/{:.1f}/{:.1f}/{:.1f} (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                     precisions[0], precisions[1], precisions[2], precisions[3], brevity_penalty, ratio, hyp_length,
                     ref_length);
}

BleuTokenizer bleu_tokenizer(std::string_view name) {
  for (size_t i = 0; i < kTokenizerNames.size(); ++i)
    if (kTokenizerNames[i] == name) return static_cast<BleuTokenizer>(i);
  raise(ErrorKind::config, "bleu: tokenizer \"{}\" is not one of 13a, none, intl, char", name);
}

}  // namespace tape::text
