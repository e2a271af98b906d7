#pragma once

#include "../../autograd/mask.h"
#include "../../autograd/ops/loss/loss.h"
#include "../../autograd/ops/product/linear_max.h"
#include "../activation.h"
#include "../dropout.h"
#include "../linear.h"
#include "../norm/layer_norm.h"

namespace tape::nn {

/// How a sequence is reduced to one vector: its first position, or the mean over all visible positions.
enum class Pooling { first, mean };

/// Returns the mean over the positions that the mask keeps: hidden [B, T, C] -> [B, C]; zeros for a row without any.
/// Only keep_mask() of the mask is used; its shape must be [B, 1, 1, T], as from Mask::padding.
Tensor mean_pool(const Tensor& hidden, const Mask& mask = {});

/// tanh(dense(hidden[:, 0])): [B, T, C] -> [B, C], the pooled output of BERT (Devlin et al. 2019, section 3.1).
class Pooler : public Layer<Pooler> {
 public:
  /// C = d_model. Throws Error (config) if it is below 1.
  explicit Pooler(int64_t d_model);
  /// Reads only the first position. Throws Error (shape) unless hidden is [B, T, C].
  Tensor forward(const Tensor& hidden);

  Child<Linear> dense;  ///< C -> C
};

/// Options of ClassificationHead.
struct ClassificationHeadOptions {
  double dropout = 0.1;  ///< before the classifier
  /// Activation after a dense layer [C, C] that precedes the dropout (BERT has it in its pooler). If empty, there is no
  /// dense layer, and the four options below have no effect.
  std::optional<ActivationKind> activation = {};
  double input_dropout = 0;             ///< on the input of the dense layer
  bool dense_bias = true;               ///< in the dense layer
  std::optional<double> norm_eps = {};  ///< of a LayerNorm after the activation; no norm if empty
  bool norm_bias = true;                ///< in that LayerNorm
};

/// classifier(dropout(norm(activation(dense(dropout(x)))))), the inner steps as the options request: [..., C] -> logits
/// [..., num_labels]. x has one vector per sequence [B, C] or one per position [B, T, C]. Throws Error (config) for
/// sizes below 1 or a dropout outside [0, 1), Error (shape) for another width.
class ClassificationHead : public Layer<ClassificationHead> {
 public:
  using Options = ClassificationHeadOptions;  ///< lets Child take options in braces

  /// C = d_model.
  ClassificationHead(int64_t d_model, int64_t num_labels, const ClassificationHeadOptions& options = {});
  /// Returns the logits: x [..., C] -> [..., num_labels].
  Tensor forward(const Tensor& x);

  std::unique_ptr<Child<Dropout>> input_dropout;  ///< null if disabled
  std::unique_ptr<Child<Linear>> dense;           ///< C -> C; null if disabled
  std::unique_ptr<Child<Activation>> activation;  ///< after `dense`; null if disabled
  std::unique_ptr<Child<LayerNorm>> norm;         ///< after the activation; null if disabled
  Child<Dropout> dropout;                         ///< before the classifier
  Child<Linear> classifier;                       ///< C -> num_labels, with bias
};

/// Options of MaskedTokenHead. The defaults are BERT's.
struct MaskedTokenHeadOptions {
  ActivationKind activation = ActivationKind::gelu;  ///< after the dense layer
  double norm_eps = 1e-12;                           ///< of the LayerNorm
  bool dense_bias = true;                            ///< in the dense layer
  std::optional<bool> norm_bias = {};                ///< in the LayerNorm; default dense_bias
  std::optional<bool> decoder_bias = {};             ///< in the decoder; default dense_bias
};

/// decoder(norm(activation(dense(hidden)))): [B, T, C] -> logits [B, T, V], BERT's masked language model head. The
/// decoder's weight is usually tied to the token table (Devlin et al. 2019, section 3.1 and their code).
class MaskedTokenHead : public Layer<MaskedTokenHead> {
 public:
  using Options = MaskedTokenHeadOptions;  ///< lets Child take options in braces

  /// C = d_model, V = vocab. Throws Error (config) for sizes below 1 or a negative norm_eps.
  MaskedTokenHead(int64_t d_model, int64_t vocab, const MaskedTokenHeadOptions& options = {});
  /// Returns the logits of every position. Throws Error (shape) for another width.
  Tensor forward(const Tensor& hidden);

  Child<Linear> dense;           ///< C -> C
  Child<Activation> activation;  ///< after `dense`
  Child<LayerNorm> norm;         ///< after the activation
  Child<Linear> decoder;         ///< C -> V
};

/// Output of a language model head: the scores or their softmax.
enum class TokenOutput { logits, probabilities };

/// Options of NextTokenHead.
struct NextTokenHeadOptions {
  bool bias = false;                         ///< whether there is a bias
  TokenOutput output = TokenOutput::logits;  ///< what forward() returns
};

/// hidden weight^T + bias: [B, T, C] -> [B, T, V], the scores of every next token, or their softmax (Vaswani et al.
/// 2017, section 3.4).
class NextTokenHead : public Layer<NextTokenHead> {
 public:
  using Options = NextTokenHeadOptions;  ///< lets Child take options in braces

  /// C = d_model, V = vocab; the weight is initialized Xavier uniform. Throws Error (config) for sizes below 1.
  NextTokenHead(int64_t d_model, int64_t vocab, const NextTokenHeadOptions& options = {});
  /// Returns the scores or probabilities [B, T, V]. Throws Error (shape) for another width.
  Tensor forward(const Tensor& hidden) const;
  /// cross_entropy(scores, target, options) with target [B, T], without materializing the logits in full
  /// (linear_cross_entropy()).
  Tensor cross_entropy(const Tensor& hidden, const Tensor& target, const CrossEntropyOptions& options = {}) const;
  /// tape::max_with_index(forward(hidden), vocab_limit), without a gradient; uses linear_max() for logits.
  TopK max_with_index(const Tensor& hidden, int64_t vocab_limit = 0) const;
  /// The same for keep_top_k() and linear_top_k().
  Tensor top_k(const Tensor& hidden, int64_t k, int64_t vocab_limit = 0) const;
  std::string settings() const override;         ///< as in "512 -> 32000, probabilities"
  TokenOutput gives() const { return output_; }  ///< what forward() returns

  Parameter weight,  ///< [V, C]
      bias;          ///< [V]; undefined without bias

 private:
  TokenOutput output_;
};

}  // namespace tape::nn
