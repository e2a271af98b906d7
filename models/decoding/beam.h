#pragma once

#include <optional>

#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

struct BeamOptions {
  int64_t beams = 4;
  int64_t n_best = 1;         ///< hypotheses a source row, at most `beams`
  int64_t max_length = 128;   ///< tokens of a translation, its end included (transformers' max_new_tokens)
  int64_t min_length = 0;     ///< tokens before the end, at least (transformers' min_new_tokens)
  double length_penalty = 1;  ///< alpha below; more favours longer ones, 0 is the sum alone
  int64_t bos = 1;
  int64_t eos = 2;
  /// Every target's first token, whatever the model says: a language (transformers' forced_bos_token_id). It counts as
  /// a token of probability 1.
  std::optional<int64_t> forced_bos = {};
  bool use_cache = true;                  ///< keep keys and values of earlier positions; the same tokens either way
  std::vector<int64_t> max_lengths = {};  ///< one a source row, in place of max_length
  int64_t vocabulary = 0;       ///< ids from here on are never said (a table padded to a round size); 0: all may be
  int64_t no_repeat_ngram = 0;  ///< no tokens, as many as this in a row, are said twice, bos among them; 0: they may be
  /// The last token at max_length is the end, whatever the model says (transformers' forced_eos_token_id); it counts as
  /// a token of probability 1.
  bool forced_eos = false;
  /// A search ends as soon as as many hypotheses as beams have ended, though a running one might become better.
  bool early_stopping = false;
  /// Whether hypotheses come with their score. Without, one beam that may say anything takes the likeliest token each
  /// time, for which the scores of all need not be made (linear_max()).
  bool scores = true;
};

struct BeamHypothesis {
  std::vector<int64_t> tokens;  ///< without bos and eos
  double score = 0;             ///< sum of log p / length^alpha; 0 where not asked for
  int64_t length = 0;           ///< as it counts in the score: with the end, where there is one, without bos
};

/// Beam search over the tokens that follow bos, as transformers' generate(num_beams=...) does it by default: src
/// [B, S] (i64) -> the n_best hypotheses of each row, best score first; fewer only where there are no more.
///
/// score(y) = sum over t of log p(y_t | y_<t, src) / |y|^alpha, |y| counting the end but not bos. (Wu et al. 2016, 7,
/// eq. 14, divides by ((5 + |y|) / 6)^alpha.) A row's search stops when `beams` hypotheses have ended and the best
/// running one, with its present length, does not score above the worst of them (early_stopping: at once). Hypotheses
/// that reach max_length are cut off there. Padding is never chosen, and the end not before min_length; what is hidden
/// keeps its share of the probability. With one beam the tokens are greedy_decode's. The model should be in evaluation
/// mode. Error (config) naming the option that does not fit.
std::vector<std::vector<BeamHypothesis>> beam_search(EncoderDecoder& model, const Tensor& src,
                                                     const BeamOptions& options = {});

}  // namespace tape::models
