#pragma once

#include <functional>
#include <optional>

#include "../decoders/causal_lm.h"
#include "../encoder_decoders/encoder_decoder.h"
#include "sampling.h"

namespace tape::models {

struct GenerateOptions {
  SamplingOptions sampling = {};
  int64_t max_new_tokens = 100;
  std::optional<std::vector<int64_t>> stop_ids = {};  ///< end a text; the model's where not given
  /// Row i draws from Generator(seed + i); where not given, the seed comes from generator(Stream::sampling).
  std::optional<uint64_t> seed = {};
  std::optional<int64_t> no_repeat_ngram = {};  ///< no tokens, as many as this in a row, are said twice; 0: they may be
  std::optional<int64_t> min_new_tokens = {};   ///< no stop id before so many
  /// The last of max_new_tokens, or of the model's positions, is the end, of an encoder-decoder model.
  std::optional<bool> forced_eos = {};
  /// Only ids below this are drawn; 0: any row of the model. Set it to the tokenizer's vocab_size(): embedding tables
  /// are often padded (Pythia, Qwen, T5), and generate(), which knows no tokenizer, can otherwise draw ids that
  /// decode() refuses.
  int64_t vocabulary = 0;
  std::optional<int64_t> bos = {};  ///< begins an encoder-decoder model's target; the model's bos_id where not given
  std::optional<int64_t> forced_bos = {};  ///< what such a target says first; the model's where not given
  bool use_cache = true;                   ///< keep keys and values of earlier positions; the same tokens either way
  /// Sees each token as it comes, and nothing when its row ends.
  std::function<void(int64_t row, std::optional<int64_t> token)> on_token = {};
};

/// What follows a prompt.
struct Continuation {
  std::vector<int64_t> tokens;  ///< without the prompt and the stop id
  bool stopped = false;         ///< at a stop id; otherwise at max_new_tokens
};

/// Continues each prompt, token by token. Prompts may differ in length; each row says what it would alone with the seed
/// that it has here (up to the rounding of products of another size). An empty prompt begins with the model's bos_id.
///
/// Where a text is longer than the model's table of positions, each further token is computed from the last max_length
/// ones, at positions 0 .. max_length - 1: the window slides, as in nanoGPT, and since every position changes, nothing
/// can be kept from the step before. A model without such a table (Llama, GptNeoX) goes on from the whole text.
///
/// Where no_repeat_ngram and min_new_tokens are not given, they are the model's own (CausalLM::search).
///
/// The model should be in evaluation mode. Error (config) naming the option that does not fit, or for an empty prompt
/// without bos_id; (index) for an id that is not in the vocabulary; (numeric) where the model gives no numbers.
std::vector<Continuation> generate(CausalLM& model, const std::vector<std::vector<int64_t>>& prompts,
                                   const GenerateOptions& options = {});

/// The same of the targets of an encoder-decoder model, each of which begins with bos: sources, as their tokenizer
/// gives them with its end -> what is said of each. Padding is never said, a first token that is forced takes no draw,
/// a repetition penalty is of what was said, and a model with a table of positions says at most as many tokens. Where
/// no_repeat_ngram, min_new_tokens and forced_eos are not given, they are the model's own (EncoderDecoder::search).
///
/// Errors as above; (config) for an empty source, (shape) for one longer than the model's positions, (index) for its
/// padding in one.
std::vector<Continuation> generate(EncoderDecoder& model, const std::vector<std::vector<int64_t>>& sources,
                                   const GenerateOptions& options = {});

}  // namespace tape::models
