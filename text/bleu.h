#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// How a text is cut into words before n-grams are counted; texts that are tokenized already take `none`.
enum class BleuTokenizer {
  v13a,  ///< mteval-v13a's rules of ASCII punctuation, used by WMT
  none,  ///< at white space
  intl,  ///< mteval-v14's: every Unicode punctuation and symbol, except punctuation between digits
  character
};

/// What stands for the precision of an order without a match (Chen and Cherry 2014, methods 3, 1 and 2).
enum class BleuSmoothing {
  exp,    ///< 1 / (2^k total) for the k-th such order
  none,   ///< 0, and so is the score
  floor,  ///< smoothing_value / total
  add_k   ///< smoothing_value is added to matches and totals of orders above 1
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;
  BleuSmoothing smoothing = BleuSmoothing::exp;
  std::optional<double> smoothing_value = std::nullopt;  ///< 0.1 for floor and 1 for add_k unless given
  bool lowercase = false;
  /// Takes only as many orders as the hypotheses have n-grams of: for single sentences.
  bool effective_order = false;
};

struct BleuScore {
  double score = 0;                    ///< 0 to 100
  std::array<double, 4> precisions{};  ///< of 1-grams to 4-grams, 0 to 100, smoothed
  std::array<int64_t, 4> matches{};    ///< n-grams found in a reference, each at most as often as there
  std::array<int64_t, 4> totals{};     ///< n-grams of the hypotheses
  double brevity_penalty = 1;          ///< exp(1 - ref_length / hyp_length) below 1, else 1
  int64_t hyp_length = 0;              ///< words
  int64_t ref_length = 0;              ///< words of the reference nearest in length, the shorter of two as near
  std::string signature;               ///< "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:..."

  /// "67.1/50.2/38.8/30.0 (BP = 1.000 ratio = 1.012 hyp_len = 65 ref_len = 64)"
  std::string details() const;
};

/// Corpus BLEU (Papineni et al. 2002), brevity_penalty * exp(mean over n of log precision_n), equal to what sacreBLEU 2
/// computes (Post 2018). Characters are code points, their classes those of Unicode 15; bytes that are no UTF-8 count
/// as U+FFFD.
///
/// references: one or more sets, each with a reference for every hypothesis.
/// Errors: ErrorKind::config when there is no hypothesis or no set; ErrorKind::shape when a set has another size.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
               const BleuOptions& options = {});

/// The same with one set of references.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options = {});

/// The tokenizer of a name that sacreBLEU knows it by: 13a, none, intl, char. Error (config) for others.
BleuTokenizer bleu_tokenizer(std::string_view name);

}  // namespace tape::text
