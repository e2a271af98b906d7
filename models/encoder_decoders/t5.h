#pragma once

#include "encoder_decoder.h"

namespace tape::models {

/// Whose folders a T5 is kept in: an mT5 is computed as T5 1.1 is. Flan-T5 is of kind t5.
enum class T5Kind { t5, mt5 };

/// "t5", as transformers' "model_type" writes it
std::string_view to_string(T5Kind kind);

/// Sizes and choices of a T5; the defaults are T5-small's of Raffel et al. 2020, with the table of transformers' size.
/// T5 1.1, Flan-T5 and mT5 are
///     {.gated = true, .activation = nn::ActivationKind::gelu_tanh, .scale_output = false, .tie_output = false}
struct T5Config {
  T5Kind kind = T5Kind::t5;
  int64_t vocab = 32128;
  int64_t d_model = 512;
  int64_t layers = 6;
  int64_t decoder_layers = 6;
  int64_t heads = 8;
  int64_t head_width = 64;  ///< transformers' d_kv; heads of it need not be d_model together
  int64_t d_ff = 2048;
  bool gated = false;  ///< activation(gate(x)) * up(x) in the feed-forward blocks (Shazeer 2020)
  nn::ActivationKind activation = nn::ActivationKind::relu;
  nn::RelativeBiasOptions relative_bias = {};  ///< its direction is each stack's own
  double dropout = 0.1;                        ///< of everything
  double norm_eps = 1e-6;
  bool scale_output = true;                ///< hidden states by d_model^-0.5 in front of the output
  bool tie_output = true;                  ///< the output's matrix is the token table
  int64_t padding_id = 0;                  ///< hidden in source and target
  int64_t bos_id = 0;                      ///< begins a target: the padding
  int64_t eos_id = 1;                      ///< ends it
  std::optional<int64_t> forced_bos = {};  ///< what every target says first
};

/// The encoder-decoder of T5 (Raffel et al. 2020, "Exploring the limits of transfer learning", 2.1): one table of
/// tokens, layers without biases and with RMSNorm in front, unscaled scores to which each stack adds one relative bias,
/// and no positions besides, so that texts of any length are read.
class T5 : public EncoderDecoder {
 public:
  /// Error (config) naming the value that does not fit.
  explicit T5(const T5Config& config);

  const T5Config& config() const { return config_; }

 private:
  T5Config config_;
};

}  // namespace tape::models
