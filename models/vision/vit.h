#pragma once

#include "../../nn/embedding/patch_embeddings.h"
#include "../../nn/transformer/encoder.h"
#include "../../nn/transformer/heads.h"
#include "../heads/classification_loss.h"

namespace tape::models {

/// Options of a vision Transformer; the defaults are ViT-B/16 of Dosovitskiy et al. 2021, table 1.
struct VitConfig {
  std::vector<int64_t> image_size = {224};  ///< height and width, or one for both
  std::vector<int64_t> patch_size = {16};
  int64_t channels = 3;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  bool bias = true;              ///< of queries, keys and values
  double dropout = 0;            ///< of the embeddings and of sublayer outputs
  double attention_dropout = 0;  ///< of attention weights
  double norm_eps = 1e-12;
  bool pooler = true;      ///< the image vector's dense layer, see Vit::pool()
  double init_std = 0.02;  ///< standard deviation of the initial weights
};

/// A class token followed by the patches of an image, and a stack of pre-norm encoder layers: pixels [B, channels, H,
/// W] to hidden states [B, 1 + patches, C] (Dosovitskiy et al. 2021, "An image is worth 16x16 words", 3.1).
class Vit : public nn::Layer<Vit> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit Vit(const VitConfig& config);
  /// Throws Error (shape) for pixels of another shape.
  Tensor forward(const Tensor& pixels);
  /// tanh(dense(hidden[:, 0])): [B, 1 + patches, C] -> [B, C]. Throws Error (config) for a model without pooler.
  Tensor pool(const Tensor& hidden);
  const VitConfig& config() const { return config_; }
  std::string settings() const override;

  nn::Child<nn::PatchEmbeddings> embeddings;
  nn::Child<nn::Encoder> encoder;
  std::unique_ptr<nn::Child<nn::Pooler>> pooler;  ///< or null

 private:
  VitConfig config_;
};

/// Options of an ImageClassifier.
struct ImageClassifierConfig {
  VitConfig vit = {};
  int64_t num_labels = 2;
  std::vector<std::string> labels = {};  ///< label names; empty, or num_labels of them
  /// Default: regression for one label; for several, depends on the labels passed to loss().
  std::optional<ProblemType> problem_type = {};

  /// One name per label: LABEL_0, LABEL_1, ... if unset, as in transformers.
  std::vector<std::string> label_names() const;
};

/// Vit and a linear layer over the class token: pixels [B, channels, H, W] to logits [B, num_labels].
class ImageClassifier : public nn::Layer<ImageClassifier> {
 public:
  /// Throws Error (config) naming the invalid value. The Vit has no pooler.
  explicit ImageClassifier(const ImageClassifierConfig& config);
  Tensor forward(const Tensor& pixels);

  /// Problem type for labels of that dtype, see problem_type_of().
  ProblemType problem_type(DType labels = i64) const;
  /// classification_loss() of that problem. Throws the same errors.
  Tensor loss(const Tensor& logits, const Tensor& labels) const;

  const ImageClassifierConfig& config() const { return config_; }

  nn::Child<Vit> vit;
  nn::Child<nn::Linear> classifier;

 private:
  ImageClassifierConfig config_;
};

}  // namespace tape::models
