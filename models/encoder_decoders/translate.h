#pragma once

#include <span>

#include "../decoding/beam.h"

namespace tape::models {

/// How translate() searches, as BeamOptions say it; what is not given is the model's own (EncoderDecoder::search).
struct TranslateOptions {
  std::optional<int64_t> beams = {};  ///< 4 where the model says none either
  int64_t n_best = 1;
  std::optional<double> length_penalty = {};  ///< else 1
  std::optional<bool> early_stopping = {};
  std::optional<int64_t> no_repeat_ngram = {};
  std::optional<int64_t> min_length = {};  ///< of the model's own, no more than max_length
  std::optional<bool> forced_eos = {};
  std::optional<int64_t> bos = {};         ///< begins every target; the model's bos_id where not given
  std::optional<int64_t> forced_bos = {};  ///< as in BeamOptions: the language, of a model of many; else the model's
  /// Tokens of a translation, its end included; 0: the model's own, else three for each of the source and 20 more (at
  /// least min_length). Never more than the model has positions, where it has a table of them.
  int64_t max_length = 0;
  int64_t vocabulary = 0;       ///< as in BeamOptions
  int64_t batch_tokens = 4096;  ///< source tokens searched at once, padding included
  bool scores = true;           ///< as in BeamOptions
  bool alignments = false;      ///< also where each token looked in the source
  /// The decoder layer whose attention is the alignment, counted from 0; where not given the last but one, whose
  /// attention was found to be nearest to human alignments (Garg et al. 2019, 4.2), or the only one.
  std::optional<int64_t> alignment_layer = {};
};

/// One of the translations of a source.
struct Translation {
  std::vector<int64_t> tokens;  ///< without the end
  double score = 0;             ///< as in BeamHypothesis
  bool ended = false;           ///< false where it was cut off at max_length
  /// [T, S], T tokens of the translation, S of the source: the attention to the source, averaged over heads, at the
  /// position that said the token; a row sums to 1. Undefined where not asked for.
  Tensor alignment = {};
};

/// Translates many sources, sorted by length into batches: ids as the source's tokenizer gives them, its end included
/// where it adds one -> for each source, in the order given, its n_best translations, best first; none for an empty
/// source. Each is what the source alone would give (up to the rounding of products of another size). The alignments
/// are those of one pass over the finished translation.
///
/// The model should be in evaluation mode. Error (config) naming the option that does not fit; (shape) for a source
/// longer than the model's positions; (index) for an id that is not in its vocabulary or is its padding; (numeric)
/// where the model gives no numbers.
std::vector<std::vector<Translation>> translate(EncoderDecoder& model, std::span<const std::vector<int64_t>> sources,
                                                const TranslateOptions& options = {});

}  // namespace tape::models
