#pragma once

#include <string>
#include <vector>

#include "../../nn/embedding/embeddings.h"
#include "../../nn/transformer/encoder.h"
#include "../../nn/transformer/heads.h"

namespace tape::models {

/// What an encoder-only model is made of, and what its family puts on it.
struct EncoderModelOptions {
  std::string family = "encoder";  ///< what it is called inside a model with a head: "bert"
  int64_t vocab = 0;
  int64_t d_model = 768;
  nn::EmbeddingsOptions embeddings = {};                 ///< without a table of positions where the layers know them
  std::vector<nn::TransformerLayerOptions> layers = {};  ///< from the first to the last
  int64_t max_length = 512;                              ///< tokens of a text at most
  bool pooler = false;     ///< the sentence vector's dense layer, see EncoderModel::pool()
  int64_t padding_id = 0;  ///< hidden where no mask is given
  double init_std = 0.02;  ///< deviation of the first weights

  // The heads that go with it.
  nn::MaskedTokenHeadOptions masked_token = {};
  nn::ClassificationHeadOptions sequence = {};  ///< of a text's vector
  bool sequence_reads_pooler = false;           ///< that of the pooler, where it is the first position's (BERT)
  nn::ClassificationHeadOptions token = {};     ///< of each position's
  nn::ClassificationHeadOptions span = {};
  bool soft_labels =
      false;  ///< a row of labels for each text is a distribution where no problem type is given (DeBERTa)
};

/// An encoder-only model: embeddings and a stack of layers in which every position sees all others, token ids [B, T] to
/// a vector a position [B, T, C]. Bert, Roberta and their kin say what theirs are made of; whoever puts a head on such
/// a model, runs or shows it takes this class.
class EncoderModel : public nn::Layer<EncoderModel> {
 public:
  /// Error (config) naming the value that does not fit.
  explicit EncoderModel(const EncoderModelOptions& options);

  /// ids and segments [B, T] (i64) -> hidden [B, T, C]. Segments may be left undefined: all are segment 0. Error
  /// (shape) for ids that are not [B, T] or more than the table of positions has, and segments of another shape;
  /// (config) for segments of a model without them; (index) for an id outside the vocabulary or a segment outside the
  /// table.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// With the padding hidden.
  Tensor forward(const Tensor& ids);
  /// tanh(dense(hidden[:, 0])): [B, T, C] -> [B, C]. Error (config) for a model without pooler.
  Tensor pool(const Tensor& hidden);
  /// Hides the padding.
  Mask padding(const Tensor& ids) const { return Mask::padding(ids, options_.padding_id); }

  const EncoderModelOptions& options() const { return options_; }
  int64_t vocab() const { return options_.vocab; }
  int64_t width() const { return options_.d_model; }
  int64_t segments() const { return options_.embeddings.segments; }
  int64_t max_length() const { return options_.max_length; }
  std::string settings() const override;

  nn::Child<nn::Embeddings> embeddings;
  nn::Child<nn::Encoder> encoder;
  std::unique_ptr<nn::Child<nn::Pooler>> pooler;  ///< null without

 private:
  EncoderModelOptions options_;
};

}  // namespace tape::models
