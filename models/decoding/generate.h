#pragma once

#include <functional>
#include <optional>

#include "../decoders/causal_lm.h"
#include "../encoder_decoders/encoder_decoder.h"
#include "sampling.h"

namespace tape::models {

/// Options of generate().
struct GenerateOptions {
  SamplingOptions sampling = {};                      ///< how each token is drawn
  int64_t max_new_tokens = 100;                       ///< maximum number of tokens per row, including the stop id
  std::optional<std::vector<int64_t>> stop_ids = {};  ///< tokens that end a text; default: the model's
  /// Row i draws from Generator(seed + i). Default: a seed from generator(Stream::sampling).
  std::optional<uint64_t> seed = {};
  std::optional<int64_t> no_repeat_ngram = {};  ///< no n-gram of this size is generated twice; 0: no limit
  std::optional<int64_t> min_new_tokens = {};   ///< minimum number of tokens before a stop id
  /// Forces eos as the last of max_new_tokens, or of the model's positions, in an encoder-decoder model.
  std::optional<bool> forced_eos = {};
  /// Only ids below this are drawn; 0: any row of the model. Set it to the tokenizer's vocab_size(): embedding tables
  /// are often padded (Pythia, Qwen, T5), and generate() does not know the tokenizer, so it may otherwise draw ids that
  /// decode() rejects.
  int64_t vocabulary = 0;
  std::optional<int64_t> bos = {};         ///< starts an encoder-decoder model's target; default: the model's bos_id
  std::optional<int64_t> forced_bos = {};  ///< first token of such a target; default: the model's
  bool use_cache = true;                   ///< cache keys and values of earlier positions; does not change the tokens
  /// Receives each token of a row as it is generated (on a GPU, while it computes the next one), and nullopt when the
  /// row ends.
  std::function<void(int64_t row, std::optional<int64_t> token)> on_token = {};
};

/// The generated continuation of a prompt.
struct Continuation {
  std::vector<int64_t> tokens;  ///< without the prompt and the stop id
  bool stopped = false;         ///< whether it ended at a stop id rather than at max_new_tokens
};

/// Continues each prompt, token by token. Prompts may differ in length; each row gets the tokens that it would get on
/// its own with its seed, up to the rounding of differently sized products. (With DynamicScaling beyond its length, the
/// longest row of the batch decides the rotation of all, and cached keys keep theirs.) An empty prompt starts with the
/// model's bos_id.
///
/// Once a text is longer than the model's position table, each token is computed from the last max_length ones at
/// positions 0 .. max_length - 1: the window slides, as in nanoGPT, and nothing can be cached because every position
/// changes. A model without such a table (Llama, GptNeoX) always uses the whole text.
///
/// no_repeat_ngram and min_new_tokens default to the model's own (CausalLM::search).
///
/// The model should be in evaluation mode. Throws Error (config) naming the invalid option, or for an empty prompt
/// without bos_id; (index) for an id outside the vocabulary; (numeric) if the model returns NaN or infinite scores.
std::vector<Continuation> generate(CausalLM& model, const std::vector<std::vector<int64_t>>& prompts,
                                   const GenerateOptions& options = {});

/// Generates the targets of an encoder-decoder model, each starting with bos. `sources` are the ids from the source's
/// tokenizer, including its end. Padding is never generated, a forced first token takes no draw, the repetition penalty
/// applies to generated tokens, and a position table limits the length. no_repeat_ngram, min_new_tokens and forced_eos
/// default to the model's own (EncoderDecoder::search).
///
/// Throws the errors above; (config) for an empty source, (shape) for one longer than the model's positions, (index)
/// for one that contains the padding id.
std::vector<Continuation> generate(EncoderDecoder& model, const std::vector<std::vector<int64_t>>& sources,
                                   const GenerateOptions& options = {});

}  // namespace tape::models
