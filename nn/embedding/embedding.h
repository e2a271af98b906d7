#pragma once

#include "../../autograd/ops/index/index.h"
#include "../module/child.h"

namespace tape::nn {

/// Options of the operation. The row padding_index is also initialized to zero.
using tape::EmbeddingOptions;

/// Looks up row weight[id] for each id: [...] i64 -> [..., C]; weight [V, C], initialized normally with standard
/// deviation C^-0.5, so that scaling by sqrt(C) gives deviation 1 (Vaswani et al. 2017, section 3.4). Throws Error
/// (index) for an id outside [0, V), Error (dtype) for ids that are not i64.
class Embedding : public Layer<Embedding> {
 public:
  using Options = EmbeddingOptions;  ///< lets Child take options in braces

  /// Throws Error (config) for sizes below 1 or a padding_index outside the table.
  Embedding(int64_t count, int64_t width, const EmbeddingOptions& options = {});
  /// Returns the rows of the ids: [...] i64 -> [..., C].
  Tensor forward(const Tensor& ids) const;
  /// Zeroes the padding row, if there is one.
  void clear_padding_row();
  std::string settings() const override;  ///< as in "30522 x 768, padding 0"

  Parameter weight;  ///< [V, C]

 private:
  std::optional<int64_t> padding_index_;
};

}  // namespace tape::nn
