#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tape::text {

/// Tokenization before n-grams are counted. Use `none` for texts that are already tokenized.
enum class BleuTokenizer {
  v13a,  ///< mteval-v13a's rules for ASCII punctuation, used by WMT
  none,  ///< split at white space
  intl,  ///< mteval-v14's: every Unicode punctuation and symbol, except punctuation between digits
  character
};

/// Precision of an order without matches (Chen and Cherry 2014, methods 3, 1 and 2).
enum class BleuSmoothing {
  exp,    ///< 1 / (2^k total) for the k-th such order
  none,   ///< 0, so that the score is 0
  floor,  ///< smoothing_value / total
  add_k   ///< smoothing_value is added to matches and totals of orders above 1
};

/// Options of bleu().
struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::v13a;         ///< applied to hypotheses and references
  BleuSmoothing smoothing = BleuSmoothing::exp;          ///< for orders without matches
  std::optional<double> smoothing_value = std::nullopt;  ///< default: 0.1 for floor and 1 for add_k
  bool lowercase = false;                                ///< lowercase both sides before tokenization
  /// Uses only orders for which the hypotheses have n-grams. For single sentences.
  bool effective_order = false;
};

/// Result of bleu().
struct BleuScore {
  double score = 0;                    ///< 0 to 100
  std::array<double, 4> precisions{};  ///< smoothed precisions of 1-grams to 4-grams, 0 to 100
  std::array<int64_t, 4> matches{};    ///< n-grams found in a reference, clipped to their count there
  std::array<int64_t, 4> totals{};     ///< n-grams of the hypotheses
  double brevity_penalty = 1;          ///< exp(1 - ref_length / hyp_length) if hypotheses are shorter, else 1
  int64_t hyp_length = 0;              ///< in words
  int64_t ref_length = 0;              ///< in words, of the reference closest in length; the shorter one on a tie
  std::string signature;               ///< "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:..."

  /// "67.1/50.2/38.8/30.0 (BP = 1.000 ratio = 1.012 hyp_len = 65 ref_len = 64)"
  std::string details() const;
};

/// Corpus BLEU (Papineni et al. 2002), brevity_penalty * exp(mean over n of log precision_n), with the same results as
/// sacreBLEU 2 (Post 2018). Characters are code points with the classes of Unicode 15; invalid UTF-8 bytes count as
/// U+FFFD.
///
/// references: one or more sets, each with one reference per hypothesis.
/// Throws Error (config) if there are no hypotheses or no sets, and Error (shape) if a set has a different size.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
               const BleuOptions& options = {});

/// Same with a single set of references.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options = {});

/// Returns the tokenizer with a sacreBLEU name: 13a, none, intl, char. Throws Error (config) for other names.
BleuTokenizer bleu_tokenizer(std::string_view name);

}  // namespace tape::text
