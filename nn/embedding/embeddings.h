#pragma once

#include "../dropout.h"
#include "../norm/layer_norm.h"
#include "embedding.h"

namespace tape::nn {

struct EmbeddingsOptions {
  int64_t max_length = 512;                   ///< positions; 0 for no table: the layers behind know them
  int64_t segments = 0;                       ///< kinds of text a position can belong to; 0 for none
  std::optional<double> norm_eps = 1e-12;     ///< LayerNorm over the sum; none where not given
  double dropout = 0.1;                       ///< of the result
  std::optional<int64_t> padding_index = {};  ///< a row of the token table that is never trained
  bool norm_bias = true;
  /// Positions are counted as in RoBERTa's code: the ids that are not padding_index have padding_index + 1 and on,
  /// those that are have padding_index, a row never trained; max_length tokens need max_length + padding_index + 1
  /// rows.
  bool positions_skip_padding = false;
};

/// What a Transformer reads: dropout(norm(token[id] + position[t] + segment[s])), all three tables learned (Devlin et
/// al. 2019, figure 2), the last two where there are any: ids [B, T] (i64) -> [B, T, C].
class Embeddings : public Layer<Embeddings> {
 public:
  using Options = EmbeddingsOptions;

  /// Error (config) for sizes below 1, and for options that do not fit.
  Embeddings(int64_t vocab, int64_t d_model, const EmbeddingsOptions& options = {});
  /// `segments` [B, T] (i64) where the layer has any; all of segment 0 where it is undefined. `first` is the position
  /// of the first id. Error (shape) beyond max_length, (config) for a first position where positions skip padding.
  Tensor forward(const Tensor& ids, const Tensor& segments = {}, int64_t first = 0);
  /// With a position of its own (i64, [B, T]) for each id, all of segment 0. Error (index) for one beyond max_length.
  Tensor at(const Tensor& ids, const Tensor& positions);
  /// The id whose places positions skip; none where they are counted from 0.
  std::optional<int64_t> skipped_padding() const { return padding_; }
  std::string settings() const override;

  Child<Embedding> token;
  std::unique_ptr<Child<Embedding>> position;  ///< null without max_length
  std::unique_ptr<Child<Embedding>> segment;   ///< null without segments
  std::unique_ptr<Child<LayerNorm>> norm;      ///< null without norm_eps
  Child<Dropout> dropout;

 private:
  int64_t max_length_;
  std::optional<int64_t> padding_;  // which positions skip
  /// `positions` is undefined where there is no table of them.
  Tensor sum(const Tensor& ids, const Tensor& positions, const Tensor& segments);
};

}  // namespace tape::nn
