#pragma once

#include "../nn/embeddings.h"
#include "../nn/encoder.h"
#include "../nn/heads.h"

namespace tape::models {

/// Sizes and choices of a decoder-only model; the defaults are GPT-2 small of Radford et al. 2019.
struct GptConfig {
  int64_t vocab = 50257;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 0;           ///< 4 d_model where it is 0
  int64_t max_length = 1024;  ///< positions
  nn::ActivationKind activation = nn::ActivationKind::gelu_tanh;
  double dropout = 0.1;            ///< of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double embedding_dropout = 0.1;
  double norm_eps = 1e-5;
  bool tie_output = true;  ///< the output's matrix is the token table
  nn::TokenOutput output = nn::TokenOutput::logits;
  std::optional<int64_t> bos_id = {};  ///< the token that begins a text, if there is one
  std::optional<int64_t> eos_id = {};  ///< the token that ends it
  double init_std = 0.02;              ///< deviation of the first weights; projections into the residual sum get less
};

/// Token and position tables, a stack of pre-LN layers that see the past alone, and the scores of every next token:
/// ids [B, T] to logits [B, T, V] (Radford et al. 2019).
class Gpt : public nn::Layer<Gpt> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Gpt(const GptConfig& config);

  /// ids [B, T] (i64) -> logits [B, T, V]; position t sees tokens 0 .. t, fewer where `mask` hides some. Error (shape)
  /// for ids that are not [B, T] or more than max_length, (index) for an id outside the vocabulary, (dtype) unless i64.
  Tensor forward(const Tensor& ids, const Mask& mask = {});
  /// Logits of the next ids [B, T], the earlier ones being in the cache (from encoder->init_cache()).
  Tensor forward_cached(const Tensor& ids, nn::EncoderCache& cache, const Mask& mask = {});
  /// Logits [B, V] of what follows the last of the next ids [B, T] alone. Each id has its position (i64, [B, T]), for
  /// texts with padding in front begin later in the cache; `mask` must hide the padding.
  Tensor next_logits(const Tensor& ids, const Tensor& positions, nn::EncoderCache& cache, const Mask& mask = {});

  const GptConfig& config() const { return config_; }
  std::string settings() const override;

  nn::Child<nn::Embeddings> embeddings;
  nn::Child<nn::Encoder> encoder;
  nn::Child<nn::NextTokenHead> output;

 private:
  GptConfig config_;
};

}  // namespace tape::models
