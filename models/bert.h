#pragma once

#include "../nn/embeddings.h"
#include "../nn/encoder.h"
#include "../nn/heads.h"

namespace tape::models {

/// Sizes and choices of an encoder-only model; the defaults are BERT base of Devlin et al. 2019.
struct BertConfig {
  int64_t vocab = 30522;
  int64_t d_model = 768;
  int64_t layers = 12;
  int64_t heads = 12;
  int64_t d_ff = 3072;
  int64_t max_length = 512;  ///< positions
  int64_t segments = 2;      ///< kinds of text a position can belong to
  nn::ActivationKind activation = nn::ActivationKind::gelu;
  double dropout = 0.1;            ///< of the embeddings and of sublayer outputs
  double attention_dropout = 0.1;  ///< of attention weights
  double norm_eps = 1e-12;
  int64_t padding_id = 0;  ///< hidden where no mask is given; its row is not trained
  bool pooler = true;      ///< the sentence vector's dense layer, see Bert::pool()
  double init_std = 0.02;  ///< deviation of the first weights
};

/// Embeddings and a stack of post-LN encoder layers: token ids to a vector a position (Devlin et al. 2019).
class Bert : public nn::Layer<Bert> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit Bert(const BertConfig& config);

  /// ids and segments [B, T] (i64) -> hidden [B, T, C]. Segments may be left undefined: all are segment 0. Error
  /// (shape) for ids that are not [B, T] or more than max_length, and segments of another shape; (index) for an id
  /// outside the vocabulary or a segment outside the table.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);
  /// tanh(dense(hidden[:, 0])): [B, T, C] -> [B, C]. Error (config) for a model without pooler.
  Tensor pool(const Tensor& hidden);

  const BertConfig& config() const { return config_; }
  std::string settings() const override;

  nn::Child<nn::Embeddings> embeddings;
  nn::Child<nn::Encoder> encoder;
  std::unique_ptr<nn::Child<nn::Pooler>> pooler;  ///< null where the configuration has none

 private:
  BertConfig config_;
};

/// Bert with a head that says which word is hidden at each position: token ids [B, T] to logits [B, T, V]. The head's
/// matrix is the token table.
class MaskedLanguageModel : public nn::Layer<MaskedLanguageModel> {
 public:
  explicit MaskedLanguageModel(const BertConfig& config);

  /// ids and segments [B, T] (i64) -> logits [B, T, V]. Errors as Bert.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);

  const BertConfig& config() const { return bert->config(); }

  nn::Child<Bert> bert;
  nn::Child<nn::MaskedTokenHead> head;
};

namespace detail {
/// What the registered checks of Bert and of what is built on it are made of.
BertConfig small_bert();
}  // namespace detail

}  // namespace tape::models
