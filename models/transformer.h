#pragma once

#include "nn/decoder.h"
#include "nn/embedding.h"
#include "nn/positional_encoding.h"

namespace tape::models {

/// Sizes and choices of a Transformer; the defaults are the base model of Vaswani et al. 2017, table 3.
struct TransformerConfig {
  int64_t src_vocab = 0;
  int64_t tgt_vocab = 0;
  int64_t d_model = 512;
  int64_t layers = 6;  ///< of the encoder, and of the decoder
  int64_t heads = 8;
  int64_t d_ff = 2048;
  double dropout = 0.1;
  nn::ActivationKind activation = nn::ActivationKind::relu;
  nn::NormPlace norm = nn::NormPlace::post;
  double norm_eps = 1e-5;
  int64_t max_length = 1024;      ///< positions, of source and target
  int64_t padding_id = 0;         ///< hidden in source and target
  bool share_embeddings = false;  ///< one table for source and target (equal vocabularies)
  bool tie_output = false;        ///< the output projection is the target's table
};

/// The encoder-decoder Transformer (Vaswani et al. 2017): token ids to logits.
class Transformer : public nn::Layer<Transformer> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Transformer(const TransformerConfig& config);

  /// src [B, S] and tgt [B, T] (i64) -> logits [B, T, tgt_vocab]; position t sees target tokens 0 .. t and the source,
  /// but no padding.
  Tensor forward(const Tensor& src, const Tensor& tgt);

  /// src [B, S] -> memory [B, S, C].
  Tensor encode(const Tensor& src);
  /// Logits of all target positions, given the memory of `src`.
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Tensor& src);
  /// Logits [B, T, V] of the next target tokens [B, T], the earlier ones being in the cache (from decoder->init_cache).
  Tensor decode_cached(const Tensor& next, nn::DecoderCache& cache, const Tensor& src);

  const TransformerConfig& config() const { return config_; }
  std::string settings() const override;

  nn::Child<nn::Embedding> src_embedding, tgt_embedding;
  nn::Child<nn::PositionalEncoding> positions;
  nn::Child<nn::Dropout> dropout;
  nn::Child<nn::Encoder> encoder;
  nn::Child<nn::Decoder> decoder;
  nn::Child<nn::Linear> output;

 private:
  Tensor embed(nn::Child<nn::Embedding>& table, const Tensor& ids, int64_t first);

  TransformerConfig config_;
};

}  // namespace tape::models
