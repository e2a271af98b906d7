#pragma once

#include <string>
#include <vector>

#include "../../nn/embedding/embeddings.h"
#include "../../nn/transformer/encoder.h"
#include "../../nn/transformer/heads.h"

namespace tape::models {

/// Architecture of an encoder-only model, and the heads of its family.
struct EncoderModelOptions {
  std::string family = "encoder";                        ///< module name inside a model with a head: "bert"
  int64_t vocab = 0;                                     ///< number of tokens, V
  int64_t d_model = 768;                                 ///< width of the hidden states, C
  nn::EmbeddingsOptions embeddings = {};                 ///< without a position table if the layers handle positions
  std::vector<nn::TransformerLayerOptions> layers = {};  ///< one per layer, from the first
  int64_t max_length = 512;                              ///< maximum number of tokens of a text
  bool pooler = false;     ///< the sentence vector's dense layer, see EncoderModel::pool()
  int64_t padding_id = 0;  ///< masked if no mask is given
  double init_std = 0.02;  ///< standard deviation of the initial weights

  // The family's heads.
  nn::MaskedTokenHeadOptions masked_token = {};  ///< of a MaskedLanguageModel
  nn::ClassificationHeadOptions sequence = {};   ///< reads a text's vector
  bool sequence_reads_pooler = false;            ///< first-token pooling uses the pooler (BERT)
  nn::ClassificationHeadOptions token = {};      ///< reads each position's vector
  nn::ClassificationHeadOptions span = {};       ///< of a QuestionAnswerer
  bool soft_labels = false;  ///< without a problem type, a row of labels per text is a distribution (DeBERTa)
};

/// An encoder-only model: embeddings and a stack of layers in which every position sees all others, token ids [B, T] to
/// hidden states [B, T, C]. Bert, Roberta and similar models fill in its options; code that adds a head to, runs or
/// displays such models takes this class.
class EncoderModel : public nn::Layer<EncoderModel> {
 public:
  /// Throws Error (config) naming the invalid value.
  explicit EncoderModel(const EncoderModelOptions& options);

  /// ids and segments [B, T] (i64) -> hidden [B, T, C]. Undefined segments are all 0. Throws Error (shape) if ids are
  /// not [B, T] or longer than the position table, or segments have another shape; (config) for segments of a model
  /// without them; (index) for an id outside the vocabulary or a segment outside the table.
  Tensor forward(const Tensor& ids, const Mask& mask, const Tensor& segments = {});
  /// forward() with the padding masked.
  Tensor forward(const Tensor& ids);
  /// tanh(dense(hidden[:, 0])): [B, T, C] -> [B, C]. Throws Error (config) for a model without pooler.
  Tensor pool(const Tensor& hidden);
  /// A mask that hides the padding.
  Mask padding(const Tensor& ids) const { return Mask::padding(ids, options_.padding_id); }

  /// The options given to the constructor.
  const EncoderModelOptions& options() const { return options_; }
  /// Number of tokens, V.
  int64_t vocab() const { return options_.vocab; }
  /// Width of the hidden states, C.
  int64_t width() const { return options_.d_model; }
  /// Number of segment types; 0 if the model has no segments.
  int64_t segments() const { return options_.embeddings.segments; }
  /// Maximum number of tokens of a text.
  int64_t max_length() const { return options_.max_length; }
  /// "30522 ids, width 768"
  std::string settings() const override;

  nn::Child<nn::Embeddings> embeddings;           ///< ids [B, T] to [B, T, C]
  nn::Child<nn::Encoder> encoder;                 ///< the layers
  std::unique_ptr<nn::Child<nn::Pooler>> pooler;  ///< or null

 private:
  EncoderModelOptions options_;
};

}  // namespace tape::models
