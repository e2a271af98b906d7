#pragma once

#include <stdint.h>

namespace tape::kernels {

/// How the next token of each row of scores is chosen: the rule of models/decoding/sampling.h.
struct TokenChoice {
  int64_t rows = 0, vocab = 0;      ///< of the scores
  int64_t limit = 0;                ///< only ids below it are chosen
  int64_t columns = 0, length = 0;  ///< room of a row's text, and how much is written: the choice becomes text[length]
  int64_t hidden = 0, stops = 0;    ///< sizes of the lists of ids
  int64_t no_repeat_ngram = 0;      ///< no n-gram of this size is repeated; 0: no limit
  int64_t filler = 0;               ///< "choice" of rows that have ended
  int64_t top_k = 0;                ///< 0: all
  double temperature = 1, top_p = 1, min_p = 0, repetition_penalty = 1;
  uint64_t seed = 0, draw = 0;  ///< row i uses value `draw` of Generator(seed + numbers[i])

  /// Whether the scores of some ids depend on lists or on the text.
  constexpr bool marks_ids() const { return hidden > 0 || no_repeat_ngram > 0 || repetition_penalty != 1; }
};

/// "Choice" of a row whose scores cannot be sampled.
constexpr int64_t kNoToken = -1;
/// What is wrong with such scores, in Finding::value; Finding::position is that of the score, row-major.
enum BadScore : int64_t { kScoreIsNan, kScoreIsInfinite, kNoScoreIsFinite };

/// Arrays of the rows; row i has the text text[i, begin[i]] .. text[i, length - 1].
template <class T>
struct TokenRows {
  const T* scores;          ///< [rows, vocab]
  const int64_t* numbers;   ///< [rows]
  const int64_t* begin;     ///< [rows]
  const int64_t* hidden;    ///< ids that are not chosen
  const int64_t* stop_ids;  ///< ids that end a row
  int64_t* text;            ///< [rows, columns]
  int64_t* next;            ///< [rows], the choices
  bool* ended;              ///< [rows], updated; rows that had ended before get the filler
};

}  // namespace tape::kernels
