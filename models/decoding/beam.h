#pragma once

#include <optional>

#include "../encoder_decoders/encoder_decoder.h"

namespace tape::models {

/// Options of beam_search().
struct BeamOptions {
  int64_t beams = 4;          ///< hypotheses that are kept per source row; 1 gives greedy search
  int64_t n_best = 1;         ///< hypotheses returned per source row, at most `beams`
  int64_t max_length = 128;   ///< tokens of a translation, including its end (transformers' max_new_tokens)
  int64_t min_length = 0;     ///< minimum number of tokens before the end (transformers' min_new_tokens)
  double length_penalty = 1;  ///< alpha below; larger values favor longer hypotheses, 0 uses the plain sum
  int64_t bos = 1;            ///< token that starts a target
  int64_t eos = 2;            ///< token that ends a target
  /// Forces every target's first token, such as a language (transformers' forced_bos_token_id). It counts as a token of
  /// probability 1.
  std::optional<int64_t> forced_bos = {};
  bool use_cache = true;                  ///< cache keys and values of earlier positions; does not change the tokens
  std::vector<int64_t> max_lengths = {};  ///< one per source row; overrides max_length
  int64_t vocabulary = 0;                 ///< only ids below this are generated (tables may be padded); 0: all
  int64_t no_repeat_ngram = 0;            ///< no n-gram of this size is generated twice, counting bos; 0: no limit
  /// Forces eos as the token at max_length (transformers' forced_eos_token_id). It counts as a token of probability 1.
  bool forced_eos = false;
  /// Ends a search once `beams` hypotheses have ended, even if a running one might become better.
  bool early_stopping = false;
  /// Whether to compute scores. Without them, a single unconstrained beam takes the likeliest token at each step, which
  /// does not require all scores (linear_max()).
  bool scores = true;
};

/// A target found by beam_search().
struct BeamHypothesis {
  std::vector<int64_t> tokens;  ///< without bos and eos
  double score = 0;             ///< sum of log p / length^alpha; 0 if scores are off
  int64_t length = 0;           ///< length used in the score: includes eos if present, excludes bos
};

/// Beam search over the tokens that follow bos, as in transformers' generate(num_beams=...) by default: src [B, S]
/// (i64) -> the n_best hypotheses of each row, best score first; fewer if there are no more.
///
/// score(y) = sum over t of log p(y_t | y_<t, src) / |y|^alpha, where |y| counts eos but not bos. (Wu et al. 2016, 7,
/// eq. 14, divides by ((5 + |y|) / 6)^alpha.) A row's search stops when `beams` hypotheses have ended and the best
/// running one, at its current length, does not score above the worst of them (with early_stopping: at once).
/// Hypotheses are cut off at max_length. Padding is never generated, nor eos before min_length; excluded tokens keep
/// their share of the probability. One beam gives the tokens of greedy_decode(). The model should be in evaluation
/// mode. Throws Error (config) naming the invalid option.
std::vector<std::vector<BeamHypothesis>> beam_search(EncoderDecoder& model, const Tensor& src,
                                                     const BeamOptions& options = {});

}  // namespace tape::models
