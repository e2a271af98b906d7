#pragma once

#include "../dropout.h"
#include "../norm/layer_norm.h"
#include "embedding.h"

namespace tape::nn {

/// Options of Embeddings. BERT also has two segment types.
struct EmbeddingsOptions {
  int64_t max_length = 512;                   ///< number of positions; 0 for no table: later layers encode positions
  int64_t segments = 0;                       ///< number of segment types; 0 for none
  std::optional<double> norm_eps = 1e-12;     ///< of the LayerNorm over the sum; no norm if empty
  double dropout = 0.1;                       ///< on the result
  std::optional<int64_t> padding_index = {};  ///< a row of the token table that is never trained
  bool norm_bias = true;                      ///< whether that LayerNorm has a bias
  /// Counts positions as RoBERTa's code does: ids other than padding_index get padding_index + 1, + 2, ..., padding
  /// gets padding_index, a row that is never trained. max_length tokens need max_length + padding_index + 1 rows.
  bool positions_skip_padding = false;
};

/// Input embeddings of a Transformer: dropout(norm(token[id] + position[t] + segment[s])) with learned tables, the last
/// two optional (Devlin et al. 2019, figure 2): ids [B, T] (i64) -> [B, T, C].
class Embeddings : public Layer<Embeddings> {
 public:
  using Options = EmbeddingsOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1 or inconsistent options.
  Embeddings(int64_t vocab, int64_t d_model, const EmbeddingsOptions& options = {});
  /// `segments` [B, T] (i64) if the layer has any; undefined means segment 0 throughout. `first` is the position of the
  /// first id. Throws Error (shape) beyond max_length, Error (config) for `first` > 0 if positions skip padding.
  Tensor forward(const Tensor& ids, const Tensor& segments = {}, int64_t first = 0);
  /// Takes a position for each id (i64, [B, T]), all in segment 0. Throws Error (index) beyond max_length.
  Tensor at(const Tensor& ids, const Tensor& positions);
  /// Returns the id that positions skip; empty if positions count from 0.
  std::optional<int64_t> skipped_padding_id() const { return padding_; }
  std::string settings() const override;  ///< as in "30522 ids, 512 positions, 2 segments"

  Child<Embedding> token;                      ///< table [V, C]
  std::unique_ptr<Child<Embedding>> position;  ///< a row per position; null without max_length
  std::unique_ptr<Child<Embedding>> segment;   ///< table [segments, C]; null without segments
  std::unique_ptr<Child<LayerNorm>> norm;      ///< null without norm_eps
  Child<Dropout> dropout;                      ///< on the result

 private:
  int64_t max_length_;
  std::optional<int64_t> padding_;  // the id that positions skip
  /// `positions` is undefined if there is no position table.
  Tensor sum(const Tensor& ids, const Tensor& positions, const Tensor& segments);
};

}  // namespace tape::nn
