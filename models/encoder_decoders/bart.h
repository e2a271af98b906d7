#pragma once

#include "encoder_decoder.h"

namespace tape::models {

/// Whose folders a Bart is kept in, and where its norms stand: of BART behind each sublayer, of mBART in front, with
/// one more behind each stack. mBART-50 is of kind mbart.
enum class BartKind { bart, mbart };

/// "bart", as transformers' "model_type" writes it
std::string_view to_string(BartKind kind);

/// Sizes and choices of a Bart; the defaults are BART-large's of Lewis et al. 2020 and mBART's of Liu et al. 2020.
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
  int64_t max_length = 1024;  ///< positions, of source and target
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;  ///< of embeddings and sublayers
  double attention_dropout = 0;
  double activation_dropout = 0;           ///< inside the feed-forward blocks
  bool scale_embedding = false;            ///< tables times sqrt(d_model)
  bool output_bias = true;                 ///< of the scores; transformers keeps it, and never trains it
  int64_t padding_id = 1;                  ///< hidden in source and target
  int64_t bos_id = 2;                      ///< begins a target: transformers' decoder_start_token_id
  int64_t eos_id = 2;                      ///< ends it
  std::optional<int64_t> forced_bos = {};  ///< what every target says first: <s>, or a language
  double init_std = 0.02;                  ///< deviation of the first weights
};

/// The encoder-decoder of BART (Lewis et al. 2020, 2.1) and mBART (Liu et al. 2020, 2.2): one table of tokens for
/// source, target and output, learned positions from the table's third row on, a norm of what each stack reads, and a
/// bias of the scores, which transformers keeps and does not train.
class Bart : public EncoderDecoder {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Bart(const BartConfig& config);

  const BartConfig& config() const { return config_; }

 private:
  BartConfig config_;
};

/// The rows in front of the first position's, which fairseq kept for its padding.
inline constexpr int64_t kBartPositionOffset = 2;

}  // namespace tape::models
