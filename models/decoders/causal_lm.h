#pragma once

#include <optional>
#include <vector>

#include "../../nn/embedding/embeddings.h"
#include "../../nn/transformer/encoder.h"
#include "../../nn/transformer/heads.h"
#include "../decoding/search_defaults.h"

namespace tape::models {

/// Architecture of a decoder-only model.
struct CausalLMOptions {
  int64_t vocab = 0;                      ///< number of tokens, V
  int64_t d_model = 768;                  ///< width of the hidden states, C
  nn::EmbeddingsOptions embeddings = {};  ///< without a position table if the layers use rotary positions
  std::vector<nn::TransformerLayerOptions> layers = {};  ///< one per layer, from the first
  nn::TokenOutput output = nn::TokenOutput::logits;      ///< logits, or their softmax
  bool tie_output = false;                               ///< whether the output matrix is the token table
  std::optional<int64_t> bos_id = {};                    ///< beginning-of-text token, if any
  std::vector<int64_t> eos_ids = {};                     ///< end-of-text tokens
  /// Standard deviation of the initial weights. Projections into the residual stream, two per layer, get it divided by
  /// sqrt(2 layers), which preserves the variance of the sum (Radford et al. 2019, 2.3).
  double init_std = 0.02;
};

/// A decoder-only model: embeddings, a stack of causal layers and the scores of every next token, ids [B, T] to logits
/// [B, T, V]. Gpt, Llama and GptNeoX fill in its options; code that loads, displays or generates from such models takes
/// this class.
class CausalLM : public nn::Layer<CausalLM> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit CausalLM(const CausalLMOptions& options);

  /// ids [B, T] (i64) -> logits [B, T, V]. Position t sees tokens 0 .. t, fewer if `mask` hides some or the layers have
  /// a sliding window. Throws Error (shape) if ids are not [B, T] or longer than max_length(), (index) if an id is
  /// outside the vocabulary, (dtype) unless i64.
  Tensor forward(const Tensor& ids, const Mask& mask = {});
  /// forward() with an explicit position for each id (i64, [B, T]), for rows that pack several texts, each starting at
  /// position 0; `mask` must separate them (Mask::keep of [B, 1, T, T]). Also throws Error (index) for a position
  /// outside the table.
  Tensor at(const Tensor& ids, const Tensor& positions, const Mask& mask = {});
  /// cross_entropy() of forward() or at() with `target` [B, T], the token that follows each id. Returns a scalar, or
  /// [B, T] with Reduction::none. Large logits are never materialized in full (linear_cross_entropy()), and hooks of
  /// `output` see the loss.
  Tensor loss(const Tensor& ids, const Tensor& target, const CrossEntropyOptions& options = {}, const Mask& mask = {});
  /// loss() of at(), with an explicit position for each id.
  Tensor loss_at(const Tensor& ids, const Tensor& positions, const Tensor& target,
                 const CrossEntropyOptions& options = {}, const Mask& mask = {});
  /// Logits of the next ids [B, T], given the earlier ones in the cache (from encoder->init_cache()).
  Tensor forward_cached(const Tensor& ids, nn::EncoderCache& cache, const Mask& mask = {});
  /// Logits [B, V] after the last of the next ids [B, T]. Each id has its position (i64, [B, T]), because texts with
  /// left padding start later in the cache; `mask` must hide the padding. Positions may be on the CPU for ids on a GPU,
  /// which then need not be waited for.
  Tensor next_logits(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask = {});
  /// max_with_index() [B, 1] and keep_top_k() [B, V] of next_logits(), without computing all scores if these are large
  /// (linear_max(), linear_top_k()). `vocab_limit` limits the choice to the first so many ids; 0: all.
  /// @{
  TopK next_likeliest(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask = {},
                      int64_t vocab_limit = 0);
  Tensor next_top_k(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, int64_t k,
                    const Mask& mask = {}, int64_t vocab_limit = 0);
  /// @}

  /// The options given to the constructor.
  const CausalLMOptions& options() const { return options_; }
  /// Number of tokens, V.
  int64_t vocab() const { return options_.vocab; }
  /// Size of the position table; without one, the length is limited only by memory.
  std::optional<int64_t> max_length() const;
  /// "50257 ids, width 768"
  std::string settings() const override;

  nn::Child<nn::Embeddings> embeddings;  ///< ids [B, T] to [B, T, C]
  nn::Child<nn::Encoder> encoder;        ///< the layers
  nn::Child<nn::NextTokenHead> output;   ///< hidden states to logits [B, T, V]
  /// Generation defaults of the model's folder; generate() uses no_repeat_ngram and min_length.
  SearchDefaults search = {};

 private:
  Tensor hidden(const Tensor& ids, const Mask& mask);
  Tensor hidden_at(const Tensor& ids, const Tensor& positions, const Mask& mask);
  /// Hidden state [B, C] of the last of the next ids, from which the following token is predicted.
  Tensor next_hidden(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask);

  CausalLMOptions options_;
};

}  // namespace tape::models
