#pragma once

#include "encoder_decoder.h"

namespace tape::models {

/// Architecture, and so the folder format, of a T5; mT5 computes the same as T5 1.1. Flan-T5 is of kind t5.
enum class T5Kind { t5, mt5 };

/// transformers' "model_type": "t5"
std::string_view to_string(T5Kind kind);

/// Options of a T5; the defaults are T5-small's of Raffel et al. 2020, with transformers' vocabulary size. For T5 1.1,
/// Flan-T5 and mT5 use
///     {.gated = true, .activation = nn::ActivationKind::gelu_tanh, .scale_output = false, .tie_output = false}
struct T5Config {
  T5Kind kind = T5Kind::t5;
  int64_t vocab = 32128;
  int64_t d_model = 512;
  int64_t layers = 6;
  int64_t decoder_layers = 6;
  int64_t heads = 8;
  int64_t head_width = 64;  ///< transformers' d_kv; heads * head_width may differ from d_model
  int64_t d_ff = 2048;
  bool gated = false;  ///< activation(gate(x)) * up(x) in the feed-forward blocks (Shazeer 2020)
  nn::ActivationKind activation = nn::ActivationKind::relu;
  nn::RelativeBiasOptions relative_bias = {};  ///< each stack sets its own direction
  double dropout = 0.1;                        ///< everywhere
  double norm_eps = 1e-6;
  bool scale_output = true;                ///< whether hidden states are scaled by d_model^-0.5 before the output
  bool tie_output = true;                  ///< whether the output matrix is the token table
  int64_t padding_id = 0;                  ///< masked in source and target
  int64_t bos_id = 0;                      ///< starts a target: the padding
  int64_t eos_id = 1;                      ///< ends a target
  std::optional<int64_t> forced_bos = {};  ///< first token of every target
};

/// The encoder-decoder of T5 (Raffel et al. 2020, "Exploring the limits of transfer learning", 2.1): one token table,
/// pre-norm layers with RMSNorm and no biases, and unscaled attention scores with one relative position bias per stack.
/// It has no other positions, so texts may have any length.
class T5 : public EncoderDecoder {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit T5(const T5Config& config);

  const T5Config& config() const { return config_; }

 private:
  T5Config config_;
};

}  // namespace tape::models
