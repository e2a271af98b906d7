#include "text/scores/chrf.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "text/scores/score_text.h"

namespace tape::text {
namespace {

/// N-gram counts of one order: in the hypotheses, in the references, and matches.
struct Counts {
  int64_t hypothesis = 0, reference = 0, both = 0;
};
using Statistics = std::vector<Counts>;

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

/// Splits words and cuts off one punctuation mark: the last, else the first.
std::vector<std::u32string_view> chrf_words(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (const std::u32string_view word : split_words(text)) {
    size_t cut = 0;
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      cut = word.size() - 1;
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      cut = 1;
    }
    if (cut > 0) words.push_back(word.substr(0, cut));
    words.push_back(word.substr(cut));
  }
  return words;
}

/// Character and then word n-grams of a text, by order.
class Ngrams {
 public:
  Ngrams(const std::string& line, const ChrfOptions& options, WordIndex& numbers) {
    std::u32string text = to_code_points(line);
    if (options.lowercase) text = lower_case(text);
    if (options.word_order > 0) {
      for (const std::u32string_view word : chrf_words(text)) words_.push_back(numbers.of(word));
    }
    if (!options.white_space) std::erase_if(text, is_python_space);
    characters_ = std::move(text);
    for (int64_t n = 1; n <= options.char_order; ++n)
      counts_.push_back(count_ngrams(characters_, static_cast<size_t>(n)));
    for (int64_t n = 1; n <= options.word_order; ++n) counts_.push_back(count_ngrams(words_, static_cast<size_t>(n)));
  }
  Ngrams(const Ngrams&) = delete;  // the counts point into the texts
  Ngrams& operator=(const Ngrams&) = delete;

  Statistics against(const Ngrams& reference) const {
    Statistics out;
    for (size_t n = 0; n < counts_.size(); ++n) {
      const NgramCounts& wanted = reference.counts_[n];
      // An order for which the reference has no n-grams does not count against the hypothesis.
      out.push_back({.hypothesis = wanted.empty() ? 0 : total_ngrams(counts_[n]),
                     .reference = total_ngrams(wanted),
                     .both = common_ngrams(counts_[n], wanted)});
    }
    return out;
  }

 private:
  std::u32string characters_, words_;
  std::vector<NgramCounts> counts_;
};

double f_score(const Statistics& statistics, int64_t beta) {
  double precision = 0, recall = 0, orders = 0;
  for (const Counts& counts : statistics) {
    if (counts.hypothesis == 0 || counts.reference == 0) continue;
    precision += static_cast<double>(counts.both) / static_cast<double>(counts.hypothesis);
    recall += static_cast<double>(counts.both) / static_cast<double>(counts.reference);
    ++orders;
  }
  if (precision + recall == 0) return 0;
  precision /= orders;
  recall /= orders;
  const auto factor = static_cast<double>(beta * beta);
  return 100 * ((1 + factor) * precision * recall / (factor * precision + recall));
}

void check(const ChrfOptions& options) {
  const auto check_order = [](const char* name, int64_t order) {
    if (order < 0 || order > 100) raise(ErrorKind::config, "chrf: {} must be 0 to 100, got {}", name, order);
  };
  check_order("char_order", options.char_order);
  check_order("word_order", options.word_order);
  if (options.char_order + options.word_order == 0)
    raise(ErrorKind::config, "chrf: char_order and word_order are both 0");
  if (options.beta < 1 || options.beta > 1000)
    raise(ErrorKind::config, "chrf: beta must be 1 to 1000, got {}", options.beta);
}

}  // namespace

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
               const ChrfOptions& options) {
  check(options);
  check_references("chrf", hypotheses, references);
  Statistics sums(static_cast<size_t>(options.char_order + options.word_order));
  for (size_t line = 0; line < hypotheses.size(); ++line) {
    WordIndex numbers;
    const Ngrams hypothesis(hypotheses[line], options, numbers);
    Statistics best;
    double highest = -1;
    for (const std::vector<std::string>& set : references) {
      Statistics statistics = hypothesis.against(Ngrams(set[line], options, numbers));
      const double score = f_score(statistics, options.beta);
      if (score <= highest) continue;
      highest = score;
      best = std::move(statistics);
    }
    for (size_t n = 0; n < sums.size(); ++n) {
      sums[n].hypothesis += best[n].hypothesis;
      sums[n].reference += best[n].reference;
      sums[n].both += best[n].both;
    }
  }
  return {.score = f_score(sums, options.beta),
          .name = fmt::format("chrF{}{}", options.beta, std::string(static_cast<size_t>(options.word_order), '+')),
          .signature = fmt::format("nrefs:{}|case:{}|eff:yes|nc:{}|nw:{}|space:{}|version:{}", references.size(),
                                   options.lowercase ? "lc" : "mixed", options.char_order, options.word_order,
                                   options.white_space ? "yes" : "no", score_version())};
}

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options) {
  const std::vector<std::string> set(references.begin(), references.end());
  return chrf(hypotheses, std::span(&set, 1), options);
}

}  // namespace tape::text
