#pragma once

#include "../nn/decoder.h"
#include "../nn/embedding.h"
#include "../nn/positional_encoding.h"

namespace tape::models {

/// Sizes and choices of a Transformer; the defaults are the base model of Vaswani et al. 2017, table 3.
struct TransformerConfig {
  int64_t src_vocab = 0;
  int64_t tgt_vocab = 0;
  int64_t d_model = 512;
  int64_t layers = 6;  ///< of the encoder, and of the decoder unless it has sizes of its own
  int64_t heads = 8;
  int64_t d_ff = 2048;
  std::optional<int64_t> decoder_layers = {};
  std::optional<int64_t> decoder_heads = {};
  std::optional<int64_t> decoder_d_ff = {};
  double dropout = 0.1;                           ///< of embeddings, sublayers and, where not given, the two below
  std::optional<double> attention_dropout = {};   ///< of attention weights
  std::optional<double> activation_dropout = {};  ///< inside the feed-forward blocks
  nn::ActivationKind activation = nn::ActivationKind::relu;
  nn::NormPlace norm = nn::NormPlace::post;
  double norm_eps = 1e-5;
  int64_t max_length = 1024;  ///< positions, of source and target
  nn::SinusoidLayout positions = nn::SinusoidLayout::interleaved;
  std::optional<int64_t> position_offset = {};  ///< of the first position; 0 where not given
  bool scale_embedding = true;                  ///< tables times sqrt(d_model) (3.4)
  int64_t padding_id = 0;                       ///< hidden in source and target
  int64_t bos_id = 1;                           ///< begins a target
  int64_t eos_id = 2;                           ///< ends it
  bool share_embeddings = false;                ///< one table for source and target (equal vocabularies)
  bool tie_output = false;                      ///< the output projection is the target's table
  std::optional<bool> output_bias = {};         ///< where not given: unless tied
  /// Whether the padding's rows are zero and not trained; where not given: unless tied.
  std::optional<bool> freeze_padding = {};
};

/// The encoder-decoder Transformer (Vaswani et al. 2017): token ids to logits.
class Transformer : public nn::Layer<Transformer> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Transformer(const TransformerConfig& config);

  /// src [B, S] and tgt [B, T] (i64) -> logits [B, T, tgt_vocab]; position t sees target tokens 0 .. t and the source,
  /// but no padding (source_mask() and target_mask() of autograd/mask.h). Error (shape) for ids of another form, more
  /// than max_length of them, or batches that differ; (index) for an id outside its vocabulary.
  Tensor forward(const Tensor& src, const Tensor& tgt);
  /// With masks of the caller's: what of the source is hidden from all, what of the target from later positions.
  Tensor forward(const Tensor& src, const Tensor& tgt, const Mask& src_mask, const Mask& tgt_mask);

  /// src [B, S] -> memory [B, S, C].
  Tensor encode(const Tensor& src);
  Tensor encode(const Tensor& src, const Mask& src_mask);
  /// Logits of all target positions, given the memory of `src`.
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Tensor& src);
  Tensor decode(const Tensor& tgt, const Tensor& memory, const Mask& src_mask, const Mask& tgt_mask);
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
