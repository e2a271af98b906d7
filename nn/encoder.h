#pragma once

#include "nn/attention.h"
#include "nn/feed_forward.h"
#include "nn/layer_norm.h"

namespace tape::nn {

/// Where a block normalizes: behind the sum with its input, as in the paper, or in front of the sublayer, which trains
/// deep stacks more easily (Xiong et al. 2020).
enum class NormPlace { post, pre };

/// What encoder and decoder layers share.
struct TransformerLayerOptions {
  int64_t d_model = 512;
  int64_t heads = 8;
  int64_t d_ff = 2048;
  double dropout = 0.1;  ///< of sublayer outputs, of attention weights and inside the feed-forward block
  ActivationKind activation = ActivationKind::relu;
  NormPlace norm = NormPlace::post;
  double norm_eps = 1e-5;
};

/// Self-attention, then feed-forward, each with dropout, a residual sum and LayerNorm (Vaswani et al. 2017, 3.1):
/// post: x = norm(x + dropout(sublayer(x))), pre: x = x + dropout(sublayer(norm(x))). x [B, T, C] -> [B, T, C].
class EncoderLayer : public Layer<EncoderLayer> {
 public:
  explicit EncoderLayer(const TransformerLayerOptions& options = {});
  Tensor forward(const Tensor& x, const Mask& mask = {});

  Child<MultiHeadAttention> self_attention;
  Child<FeedForward> feed_forward;
  Child<LayerNorm> norm1, norm2;
  Child<Dropout> dropout;

 private:
  NormPlace norm_;
};

/// A stack of encoder layers; with norms in front, a last LayerNorm behind them all.
class Encoder : public Layer<Encoder> {
 public:
  Encoder(int64_t count, const TransformerLayerOptions& options = {});
  Tensor forward(const Tensor& x, const Mask& mask = {});

  Children<EncoderLayer> layers;
  std::unique_ptr<Child<LayerNorm>> norm;  ///< null with norms behind
};

}  // namespace tape::nn
