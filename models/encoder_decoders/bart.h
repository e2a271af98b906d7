#pragma once

#include "encoder_decoder.h"

namespace tape::models {

/// Architecture, and so the folder format, of a Bart: BART is post-norm; mBART is pre-norm, with a final norm after
/// each stack. mBART-50 is of kind mbart.
enum class BartKind { bart, mbart };

/// transformers' "model_type": "bart"
std::string_view to_string(BartKind kind);

/// Options of a Bart; the defaults are BART-large's of Lewis et al. 2020 and mBART's of Liu et al. 2020.
struct BartConfig {
  BartKind kind = BartKind::bart;
  int64_t vocab = 50265;
  int64_t d_model = 1024;
  int64_t layers = 12;
  int64_t heads = 16;
  int64_t d_ff = 4096;
  int64_t decoder_layers = 12;
  int64_t decoder_heads = 16;
  int64_t decoder_d_ff = 4096;
  int64_t max_length = 1024;  ///< number of positions, of source and target
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;  ///< of embeddings and sublayers
  double attention_dropout = 0;
  double activation_dropout = 0;           ///< inside the feed-forward blocks
  bool scale_embedding = false;            ///< whether tables are multiplied by sqrt(d_model)
  bool output_bias = true;                 ///< of the logits; transformers stores it but never trains it
  int64_t padding_id = 1;                  ///< masked in source and target
  int64_t bos_id = 2;                      ///< starts a target: transformers' decoder_start_token_id
  int64_t eos_id = 2;                      ///< ends a target
  std::optional<int64_t> forced_bos = {};  ///< first token of every target: <s>, or a language
  double init_std = 0.02;                  ///< standard deviation of the initial weights
};

/// The encoder-decoder of BART (Lewis et al. 2020, 2.1) and mBART (Liu et al. 2020, 2.2): one token table for source,
/// target and output, learned positions starting at the table's third row, a norm of each stack's input, and a bias of
/// the logits, which transformers stores but does not train.
class Bart : public EncoderDecoder {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Bart(const BartConfig& config);

  const BartConfig& config() const { return config_; }

 private:
  BartConfig config_;
};

/// Rows before the first position's, which fairseq reserves for padding.
inline constexpr int64_t kBartPositionOffset = 2;

}  // namespace tape::models
