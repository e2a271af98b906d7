#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tape::text {

struct ChrfOptions {
  int64_t char_order = 6;  ///< longest n-grams of characters
  int64_t word_order = 0;  ///< longest n-grams of words; 2 is chrF++
  int64_t beta = 2;        ///< recall counts beta times as much as precision
  bool lowercase = false;
  bool white_space = false;  ///< count white space as characters
};

struct ChrfScore {
  double score = 0;       ///< 0 to 100
  std::string name;       ///< "chrF2", "chrF2++"
  std::string signature;  ///< "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:..."
};

/// Corpus chrF (Popović 2015, 2017), (1 + beta^2) P R / (beta^2 P + R) with P and R the mean precision and recall over
/// the orders that both sides have n-grams of, equal to what sacreBLEU 2 computes. Of several references the one with
/// the best score of its sentence counts.
///
/// Errors: as bleu(); ErrorKind::config for an order outside 0 to 100, both orders 0, or beta outside 1 to 1000.
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> references,
               const ChrfOptions& options = {});

/// The same with one set of references.
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options = {});

}  // namespace tape::text
