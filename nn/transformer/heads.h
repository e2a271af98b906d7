#pragma once

#include "../../autograd/mask.h"
#include "../../autograd/ops/loss/loss.h"
#include "../../autograd/ops/product/linear_max.h"
#include "../activation.h"
#include "../dropout.h"
#include "../linear.h"
#include "../norm/layer_norm.h"

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

struct ClassificationHeadOptions {
  double dropout = 0.1;  ///< in front of the classifier
  /// Of a dense layer [C, C] in front of that dropout, which BERT has in its pooler; without an activation there is
  /// none, and the four below mean nothing.
  std::optional<ActivationKind> activation = {};
  double input_dropout = 0;  ///< of what the dense layer reads
  bool dense_bias = true;
  std::optional<double> norm_eps = {};  ///< LayerNorm behind the activation; none where not given
  bool norm_bias = true;
};

/// classifier(dropout(norm(activation(dense(dropout(x)))))), the inner ones where the options ask for them: [..., C] ->
/// logits [..., num_labels]. x is a vector a sequence [B, C] or one a position [B, T, C]. Error (config) for sizes
/// below 1 and a dropout outside [0, 1), (shape) for another width.
class ClassificationHead : public Layer<ClassificationHead> {
 public:
  using Options = ClassificationHeadOptions;

  ClassificationHead(int64_t d_model, int64_t num_labels, const ClassificationHeadOptions& options = {});
  Tensor forward(const Tensor& x);

  std::unique_ptr<Child<Dropout>> input_dropout;  ///< null without
  std::unique_ptr<Child<Linear>> dense;           ///< this and the next two null without
  std::unique_ptr<Child<Activation>> activation;
  std::unique_ptr<Child<LayerNorm>> norm;
  Child<Dropout> dropout;
  Child<Linear> classifier;
};

struct MaskedTokenHeadOptions {
  ActivationKind activation = ActivationKind::gelu;
  double norm_eps = 1e-12;
  bool dense_bias = true;
  std::optional<bool> norm_bias = {};     ///< as dense_bias where not given
  std::optional<bool> decoder_bias = {};  ///< the same
};

/// decoder(norm(activation(dense(hidden)))): [B, T, C] -> logits [B, T, V], what BERT says of hidden words; the
/// decoder's weight is usually tied to the token table (Devlin et al. 2019, 3.1 and their code).
class MaskedTokenHead : public Layer<MaskedTokenHead> {
 public:
  using Options = MaskedTokenHeadOptions;

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
  using Options = NextTokenHeadOptions;

  NextTokenHead(int64_t d_model, int64_t vocab, const NextTokenHeadOptions& options = {});
  Tensor forward(const Tensor& hidden) const;
  /// cross_entropy(scores, target, options) with target [B, T]; large scores are never whole (linear_cross_entropy()).
  Tensor cross_entropy(const Tensor& hidden, const Tensor& target, const CrossEntropyOptions& options = {}) const;
  /// tape::max_with_index(forward(hidden), words), without a gradient; scores by linear_max().
  TopK max_with_index(const Tensor& hidden, int64_t words = 0) const;
  /// The same of keep_top_k() and linear_top_k().
  Tensor top_k(const Tensor& hidden, int64_t k, int64_t words = 0) const;
  std::string settings() const override;
  TokenOutput gives() const { return output_; }

  Parameter weight, bias;  ///< [V, C] and [V]

 private:
  TokenOutput output_;
};

}  // namespace tape::nn
