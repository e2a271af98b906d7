#pragma once

#include <span>

#include "../decoding/beam.h"

namespace tape::models {

/// Search options of translate(), see BeamOptions; unset ones default to the model's own (EncoderDecoder::search).
struct TranslateOptions {
  std::optional<int64_t> beams = {};            ///< 4 if the model sets none either
  int64_t n_best = 1;                           ///< translations returned per source, at most `beams`
  std::optional<double> length_penalty = {};    ///< 1 if the model sets none either
  std::optional<bool> early_stopping = {};      ///< see BeamOptions
  std::optional<int64_t> no_repeat_ngram = {};  ///< see BeamOptions
  std::optional<int64_t> min_length = {};       ///< the model's default is limited to max_length
  std::optional<bool> forced_eos = {};          ///< see BeamOptions
  std::optional<int64_t> bos = {};              ///< starts every target; default: the model's bos_id
  std::optional<int64_t> forced_bos = {};       ///< see BeamOptions; the language of a multilingual model
  /// Maximum number of tokens of a translation, including its end. 0: the model's own, or 3 S + 20 for a source of S
  /// tokens (at least min_length). Never more than the size of the model's position table, if any.
  int64_t max_length = 0;
  int64_t vocabulary = 0;       ///< see BeamOptions
  int64_t batch_tokens = 4096;  ///< source tokens per batch, including padding
  bool scores = true;           ///< see BeamOptions
  bool alignments = false;      ///< whether to return the attention to the source
  /// Decoder layer whose attention is the alignment, counted from 0. Default: the second to last, whose attention is
  /// closest to human alignments (Garg et al. 2019, 4.2), or the only one.
  std::optional<int64_t> alignment_layer = {};
};

/// One of the translations of a source.
struct Translation {
  std::vector<int64_t> tokens;  ///< without eos
  double score = 0;             ///< see BeamHypothesis
  bool ended = false;           ///< false if cut off at max_length
  /// [T, S], with T tokens of the translation and S of the source: the attention to the source, averaged over heads, at
  /// the position that predicted the token; rows sum to 1. Undefined if not requested.
  Tensor alignment = {};
};

/// Translates many sources, sorted by length into batches. `sources` are ids from the source's tokenizer, including its
/// end if it adds one. Returns for each source, in the given order, its n_best translations, best first; none for an
/// empty source. Results do not depend on the batch (up to the rounding of differently sized products). Alignments come
/// from one pass over the finished translation.
///
/// The model should be in evaluation mode. Throws Error (config) naming the invalid option; (shape) for a source longer
/// than the model's positions; (index) for an id that is outside the vocabulary or is the padding; (numeric) if the
/// model returns NaN or infinite scores.
std::vector<std::vector<Translation>> translate(EncoderDecoder& model, std::span<const std::vector<int64_t>> sources,
                                                const TranslateOptions& options = {});

}  // namespace tape::models
