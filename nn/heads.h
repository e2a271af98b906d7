#pragma once

#include "../autograd/mask.h"
#include "activation.h"
#include "dropout.h"
#include "layer_norm.h"
#include "linear.h"

namespace tape::nn {

/// How the positions of a sequence become one vector: the first position's, or the mean over all that can be seen.
enum class Pooling { first, mean };

/// Mean over the positions that the mask lets be seen: hidden [B, T, C] -> [B, C]; a row with none gives zeros. Of the
/// mask only its kept() part counts; it must have the form [B, 1, 1, T] of Mask::padding.
Tensor mean_pool(const Tensor& hidden, const Mask& mask = {});

/// tanh(dense(hidden[:, 0])): [B, T, C] -> [B, C], the sentence vector of BERT (Devlin et al. 2019, 3.1).
class Pooler : public Layer<Pooler> {
 public:
  explicit Pooler(int64_t d_model);
  Tensor forward(const Tensor& hidden);

  Child<Linear> dense;
};

/// classifier(dropout(pooled)): [B, C] -> logits [B, num_labels].
class ClassificationHead : public Layer<ClassificationHead> {
 public:
  ClassificationHead(int64_t d_model, int64_t num_labels, double dropout = 0.1);
  Tensor forward(const Tensor& pooled);

  Child<Dropout> dropout;
  Child<Linear> classifier;
};

struct MaskedTokenHeadOptions {
  ActivationKind activation = ActivationKind::gelu;
  double norm_eps = 1e-12;
};

/// decoder(norm(activation(dense(hidden)))): [B, T, C] -> logits [B, T, V], what BERT says of hidden words; the
/// decoder's weight is usually tied to the token table (Devlin et al. 2019, 3.1 and their code).
class MaskedTokenHead : public Layer<MaskedTokenHead> {
 public:
  MaskedTokenHead(int64_t d_model, int64_t vocab, const MaskedTokenHeadOptions& options = {});
  Tensor forward(const Tensor& hidden);

  Child<Linear> dense;
  Child<Activation> activation;
  Child<LayerNorm> norm;
  Child<Linear> decoder;
};

/// What a head that names tokens gives: the scores, or their softmax.
enum class TokenOutput { logits, probabilities };

struct NextTokenHeadOptions {
  bool bias = false;
  TokenOutput output = TokenOutput::logits;
};

/// hidden weight^T + bias: [B, T, C] -> [B, T, V], the scores of every next token, or their softmax (Vaswani et al.
/// 2017, 3.4).
class NextTokenHead : public Layer<NextTokenHead> {
 public:
  NextTokenHead(int64_t d_model, int64_t vocab, const NextTokenHeadOptions& options = {});
  Tensor forward(const Tensor& hidden) const;
  std::string settings() const override;
  TokenOutput gives() const { return output_; }

  Parameter weight, bias;  ///< [V, C] and [V]

 private:
  TokenOutput output_;
};

}  // namespace tape::nn
