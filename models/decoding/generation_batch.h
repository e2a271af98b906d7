#pragma once

#include <functional>
#include <vector>

#include "generate.h"

namespace tape::models {

/// The tokens that would end a row of n which stands in `said` already (Paulus et al. 2018, 2.5; transformers'
/// no_repeat_ngram_size), each as often as it does so; none for n = 0.
std::vector<int64_t> repeating_tokens(std::span<const int64_t> said, int64_t n);

/// The texts that one call of generate() continues, each with draws of its own: who has ended, what was said, and the
/// step from scores to the next token.
class GenerationBatch {
 public:
  struct Row {
    std::vector<int64_t> ids;  ///< what was there before, and what was said: what a penalty is of
    Generator draws;
    bool ended = false;
  };

  /// Error (config) naming the option that does not fit a model of so many ids. The options must live on; `own` are
  /// the model's.
  GenerationBatch(const GenerateOptions& options, int64_t vocab, std::vector<int64_t> stop_ids,
                  const SearchDefaults& own = {});

  /// Another text, of which `before` is there.
  void add(std::vector<int64_t> before);

  const std::vector<Row>& rows() const { return rows_; }
  /// Those that have not ended, of which the condition holds.
  std::vector<size_t> running(const std::function<bool(size_t)>& condition = {}) const;
  /// The next token of each row of `which` (of which the condition holds), from logits [which, V].
  void say(const std::vector<size_t>& which, const Tensor& logits, const std::function<bool(size_t)>& condition = {});
  /// Whether each row's next token is the likeliest of words(), so that no other score is asked for.
  bool takes_likeliest() const;
  /// How many of the likeliest words() the next tokens of so many rows are drawn from, so that no other score is asked
  /// for; 0: any may be, and of several rows all scores cost least (linear_top_k()).
  int64_t top_k(size_t rows) const;
  /// How many ids may be said, from the first on; 0: all.
  int64_t words() const { return options_.vocabulary; }
  /// The next token of each row where that is so, the likeliest [which, 1].
  void say(const std::vector<size_t>& which, const TopK& best, const std::function<bool(size_t)>& condition = {});
  /// The next token of a row, whatever a model says.
  void say(size_t row, int64_t token);
  /// Ends all that run.
  std::vector<Continuation> finish();

 private:
  /// The next token of a row. Concerns no other row, so that several are chosen at once.
  int64_t choose(size_t row, std::vector<double> scores);
  /// Whether each token may be said whatever was said before.
  bool says_any() const;
  /// What of the scores may not be said.
  void hide(size_t row, std::vector<double>& scores) const;
  void end(size_t row);

  const GenerateOptions& options_;
  std::vector<int64_t> stop_ids_;
  int64_t no_repeat_ngram_, min_new_tokens_;
  uint64_t seed_;
  std::vector<Row> rows_;
  std::vector<Continuation> found_;
};

}  // namespace tape::models
