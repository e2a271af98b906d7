#include <vector>

#include "tests/fuzz/target.h"
#include "text/scores/bleu.h"
#include "text/scores/chrf.h"

namespace tape::fuzz {

/// Two texts of arbitrary bytes: scores are from 0 to 100, and 100 for equal texts.
void fuzz_scores(Bytes bytes) {
  const std::vector<std::string_view> parts = parts_of(bytes);
  const std::vector<std::string> one{std::string(parts.front())}, other{std::string(parts.back())};
  const auto expect_score = [](double score) { expect(score >= 0 && score <= 100.0001, "a score of {}", score); };
  for (const auto tokenizer : {text::BleuTokenizer::v13a, text::BleuTokenizer::none, text::BleuTokenizer::intl,
                               text::BleuTokenizer::character})
    for (const bool lowercase : {false, true}) {
      expect_score(text::bleu(one, other, {.tokenizer = tokenizer, .lowercase = lowercase}).score);
      const auto same = text::bleu(one, one, {.tokenizer = tokenizer, .lowercase = lowercase, .effective_order = true});
      expect(same.totals[0] == 0 || same.score > 99.999, "a text scores {} against itself", same.score);
    }
  expect_score(text::chrf(one, other).score);
  expect_score(text::chrf(one, other, {.word_order = 2, .lowercase = true, .white_space = true}).score);
}

}  // namespace tape::fuzz
