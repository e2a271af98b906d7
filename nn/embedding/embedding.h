#pragma once

#include "../../autograd/ops/index/index.h"
#include "../module/child.h"

namespace tape::nn {

/// What the operation takes, padding_index: of a layer that row also starts at zero.
using tape::EmbeddingOptions;

/// Row weight[id] for each id: [...] i64 -> [..., C]; weight [V, C], started normal with deviation C^-0.5, so that
/// times sqrt(C) it has deviation 1 (Vaswani et al. 2017, 3.4). Error (index) for an id outside [0, V), (dtype) for ids
/// that are not i64.
class Embedding : public Layer<Embedding> {
 public:
  using Options = EmbeddingOptions;

  /// Error (config) for sizes below 1 and a padding_index outside the table.
  Embedding(int64_t count, int64_t width, const EmbeddingOptions& options = {});
  Tensor forward(const Tensor& ids) const;
  /// Sets the padding row, if there is one, to zero.
  void clear_padding_row();
  std::string settings() const override;

  Parameter weight;

 private:
  std::optional<int64_t> padding_index_;
};

}  // namespace tape::nn
