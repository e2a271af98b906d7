#pragma once

#include <memory>
#include <optional>

#include "../../autograd/tensor.h"
#include "rotary_scaling.h"

namespace tape::nn {

/// Cosine and sine of the angles by which pairs of columns turn.
struct RotaryTables {
  Tensor cosine, sine;  ///< [T, R/2], or [B, T, R/2] where each text has positions of its own
};

/// Where the tokens of a call stand in their texts. Not given, they are counted from 0, or go on behind a cache. The
/// layers of a stack that are given one object work out its rotations once.
class Positions {
 public:
  Positions();
  /// One behind the other, from `first` on. Error (index) unless it is in [0, 2^53).
  Positions(int64_t first);  // not explicit: rotary(x, 5)
  /// One by one: ids [B, T] or [T], i64, as transformers' position_ids. Texts with padding in front begin behind it;
  /// the padding may have any position, 0 for example. Error (dtype, shape), and (index) unless all are in [0, 2^53).
  Positions(const Tensor& ids);  // not explicit: rotary(x, ids)

  bool given() const { return ids_.defined() || first_.has_value(); }
  /// These where they are given, else from `first` on.
  Positions or_from(int64_t first) const;

  /// The rotation of positions that are `length` tokens of `batch` texts. Error (shape) where ids are of another shape.
  RotaryTables turn(const RotaryFrequencies& frequencies, int64_t batch, int64_t length, DType dtype) const;

 private:
  struct Turns;
  std::optional<int64_t> first_;
  Tensor ids_;
  int64_t last_ = 0;  // of ids_, the largest
  std::shared_ptr<Turns> turns_;
};

/// Positions that skip padding, as fairseq counts them: ids [B, T] (i64) -> [B, T] (i64). The first id of a row that is
/// not `padding_id` gets `first`, the next ones first + 1 and on; padding gets `of_padding`. Error (dtype, shape).
Tensor positions_skipping_padding(const Tensor& ids, int64_t padding_id, int64_t first, int64_t of_padding);

}  // namespace tape::nn
