#pragma once

#include <stdint.h>

namespace tape::kernels {

/// How the next token of each row of scores is chosen: the rule of models/decoding/sampling.h.
struct TokenChoice {
  int64_t rows, vocab;      ///< of the scores
  int64_t limit;            ///< only ids below it are chosen
  int64_t columns, length;  ///< room of a row's text, and how much of it is written: the choice becomes text[length]
  int64_t hidden, stops;    ///< sizes of the lists of ids
  int64_t no_repeat_ngram;  ///< no n-gram of this size is repeated; 0: no limit
  int64_t filler;           ///< "choice" of rows that have ended
  int64_t top_k;            ///< 0: all
  double temperature, top_p, min_p, repetition_penalty;
  uint64_t seed, draw;  ///< row i uses value `draw` of Generator(seed + numbers[i])

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
