#pragma once

#include <memory>
#include <optional>

#include "../../autograd/tensor.h"
#include "rotary_scaling.h"

namespace tape::nn {

/// Cosines and sines of the rotation angles of column pairs.
struct RotaryTables {
  /// [T, R/2], or [B, T, R/2] if each text has its own positions.
  /// @{
  Tensor cosine, sine;
  /// @}
};

/// Positions of a call's tokens in their texts. By default they count from 0, or continue after a cache. Layers of a
/// stack that share one object compute its rotations once.
class Positions {
 public:
  Positions();
  /// Consecutive positions from `first` on. Throws Error (index) unless it is in [0, 2^53).
  Positions(int64_t first);  // not explicit: rotary(x, 5)
  /// One position per token: ids [B, T] or [T], i64, like transformers' position_ids. Left-padded texts start counting
  /// after the padding, which may have any position, for example 0. Throws Error (dtype, shape), and Error (index)
  /// unless all are in [0, 2^53).
  Positions(const Tensor& ids);  // not explicit: rotary(x, ids)

  /// Whether the constructor was given positions; if not, they follow from the call.
  bool given() const { return ids_.defined() || first_.has_value(); }
  /// Returns these positions if they were given, otherwise those from `first` on.
  Positions or_starting_at(int64_t first) const;

  /// Returns the rotation for `batch` texts of `length` tokens. Throws Error (shape) if the ids have another shape.
  RotaryTables rotary_tables(const RotaryFrequencies& frequencies, int64_t batch, int64_t length,
                             const TensorOptions& as) const;

 private:
  struct RotationCache;
  std::optional<int64_t> first_;
  Tensor ids_;
  int64_t last_ = 0;  // largest of ids_
  std::shared_ptr<RotationCache> rotations_;
};

/// Returns positions that skip padding, as in fairseq: ids [B, T] (i64) -> [B, T] (i64). The first id of a row other
/// than `padding_id` gets `first`, the following ones first + 1, ...; padding gets `padding_position`. Throws Error
/// (dtype, shape).
Tensor positions_skipping_padding(const Tensor& ids, int64_t padding_id, int64_t first, int64_t padding_position);

}  // namespace tape::nn
