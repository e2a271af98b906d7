#pragma once

#include "../../tensor.h"

namespace tape {

/// How elementwise losses are reduced: mean, sum, or not at all.
enum class Reduction { mean, sum, none };

/// Reduces elementwise losses. Error (shape) for the mean of an empty tensor.
Tensor reduced(const Tensor& losses, Reduction reduction);

/// x as losses read it: bf16 in f32 where autocast is on (AutocastScope).
Tensor loss_operand(const Tensor& x);

/// Whether cross-entropies read bf16 logits on a device as they are, for losses in f32: where autocast is on and there
/// are kernels for it.
bool reads_bf16_logits(Device device);

/// Two operands of a loss, as loss_operand() gives them.
struct LossPair {
  Tensor x, target;
};
/// Throws Error (dtype) `operation: dtypes differ: f32 and f64` or `operation: needs a floating dtype, got i64`, and
/// (shape) `operation: shapes differ: [3] and [3, 1]`.
LossPair loss_pair(const char* operation, const Tensor& x, const Tensor& target);

}  // namespace tape
