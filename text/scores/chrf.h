#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tape::text {

/// Options of chrf().
struct ChrfOptions {
  int64_t char_order = 6;    ///< maximum length of character n-grams
  int64_t word_order = 0;    ///< maximum length of word n-grams; 2 is chrF++
  int64_t beta = 2;          ///< recall has beta times the weight of precision
  bool lowercase = false;    ///< lowercase both sides first
  bool white_space = false;  ///< count white space as characters
};

/// Result of chrf().
struct ChrfScore {
  double score = 0;       ///< 0 to 100
  std::string name;       ///< "chrF2", "chrF2++"
  std::string signature;  ///< "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:..."
};

/// Corpus chrF (Popović 2015, 2017), (1 + beta^2) P R / (beta^2 P + R), where P and R are mean precision and recall
/// over the orders for which both sides have n-grams. Same results as sacreBLEU 2. With several references, each
/// sentence uses the one with the best score.
///
/// Errors as for bleu(); also Error (config) for an order outside 0 to 100, both orders 0, or beta outside 1 to 1000.
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
               const ChrfOptions& options = {});

/// Same with a single set of references.
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options = {});

}  // namespace tape::text
