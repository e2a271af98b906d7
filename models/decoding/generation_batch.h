#pragma once

#include <functional>
#include <vector>

#include "generate.h"

namespace tape::models {

/// Tokens that would complete an n-gram already present in `generated` (Paulus et al. 2018, 2.5; transformers'
/// no_repeat_ngram_size), once per occurrence; none for n = 0.
std::vector<int64_t> repeating_tokens(std::span<const int64_t> generated, int64_t n);

/// The texts that one call of generate() continues, each with its own random draws: tracks which have ended and what
/// was generated, and chooses the next token from scores.
class GenerationBatch {
 public:
  struct Row {
    std::vector<int64_t> ids;  ///< the text so far, to which the repetition penalty applies
    Generator draws;
    bool ended = false;
  };

  /// `options` must outlive this object; `own` are the model's defaults. Throws Error (config) naming an option that is
  /// invalid for a model of `vocab` ids.
  GenerationBatch(const GenerateOptions& options, int64_t vocab, std::vector<int64_t> stop_ids,
                  const SearchDefaults& own = {});

  /// Adds a row whose text so far is `before`.
  void add(std::vector<int64_t> before);

  const std::vector<Row>& rows() const { return rows_; }
  /// The rows that have not ended and satisfy the condition.
  std::vector<size_t> running(const std::function<bool(size_t)>& condition = {}) const;
  /// Chooses the next token of each running row of `which` that satisfies the condition, from logits [which, V].
  void append_next(const std::vector<size_t>& which, const Tensor& logits,
                   const std::function<bool(size_t)>& condition = {});
  /// Whether each row's next token is the likeliest of the allowed ids, so that no other score is needed.
  bool is_greedy() const;
  /// How many of the likeliest ids suffice to draw the next tokens of so many rows; 0 if all scores are needed, or
  /// if computing all is cheaper, as for several rows (linear_top_k()).
  int64_t top_k(size_t rows) const;
  /// Only ids below this may be generated; 0: all.
  int64_t vocab_limit() const { return options_.vocabulary; }
  /// As above if is_greedy(), from the likeliest tokens [which, 1].
  void append_next(const std::vector<size_t>& which, const TopK& best,
                   const std::function<bool(size_t)>& condition = {});
  /// Sets the next token of a row regardless of the model's output.
  void append_next(size_t row, int64_t token);
  /// Ends all running rows.
  std::vector<Continuation> finish();

 private:
  friend class DeviceTokens;

  /// append_next() for the rows which[places], from logits [which, V] on a GPU.
  void append_chosen_on_device(const std::vector<size_t>& which, const std::vector<size_t>& places,
                               const Tensor& logits);
  /// Chooses the next token of a row. Touches no other row, so calls for several rows may run concurrently.
  int64_t choose(size_t row, std::vector<double> scores);
  /// Whether the allowed tokens do not depend on the text so far.
  bool allows_any() const;
  /// Sets the scores of disallowed tokens to -inf.
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
