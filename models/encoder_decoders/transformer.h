#pragma once

#include "encoder_decoder.h"

namespace tape::models {

/// Options of a Transformer; the defaults are the base model of Vaswani et al. 2017, table 3.
struct TransformerConfig {
  int64_t src_vocab = 0;
  int64_t tgt_vocab = 0;
  int64_t d_model = 512;
  int64_t layers = 6;  ///< of the encoder, and of the decoder unless decoder_layers is set
  int64_t heads = 8;
  int64_t d_ff = 2048;
  std::optional<int64_t> decoder_layers = {};
  std::optional<int64_t> decoder_heads = {};
  std::optional<int64_t> decoder_d_ff = {};
  double dropout = 0.1;                           ///< of embeddings and sublayers; default of the two below
  std::optional<double> attention_dropout = {};   ///< of attention weights
  std::optional<double> activation_dropout = {};  ///< inside the feed-forward blocks
  nn::ActivationKind activation = nn::ActivationKind::relu;
  nn::NormPlace norm = nn::NormPlace::post;
  double norm_eps = 1e-5;
  int64_t max_length = 1024;  ///< number of positions, of source and target
  /// With fairseq's layout, padding gets no position and is not counted.
  nn::SinusoidLayout positions = nn::SinusoidLayout::interleaved;
  std::optional<int64_t> position_offset = {};  ///< index of the first position; default: 0
  bool scale_embedding = true;                  ///< whether tables are multiplied by sqrt(d_model) (3.4)
  int64_t padding_id = 0;                       ///< masked in source and target
  int64_t bos_id = 1;                           ///< starts a target
  int64_t eos_id = 2;                           ///< ends a target
  std::optional<int64_t> forced_bos = {};       ///< first token of every target
  bool share_embeddings = false;                ///< one table for source and target (equal vocabularies)
  bool tie_output = false;                      ///< whether the output projection is the target's table
  std::optional<bool> output_bias = {};         ///< default: unless tied
  /// Whether padding rows are zero and not trained; default: unless tied.
  std::optional<bool> freeze_padding = {};
};

/// The encoder-decoder Transformer (Vaswani et al. 2017): token ids to logits.
class Transformer : public EncoderDecoder {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Transformer(const TransformerConfig& config);

  const TransformerConfig& config() const { return config_; }

 private:
  TransformerConfig config_;
};

}  // namespace tape::models
