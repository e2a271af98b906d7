#pragma once

#include <functional>

#include "../../tensor.h"

namespace tape {

/// Intermediate results of attention with H heads; see scaled_dot_product_attention.
struct AttentionSteps {
  Tensor query;          ///< [B, H, Tq, D]
  Tensor key;            ///< [B, H, Tk, D]
  Tensor value;          ///< [B, H, Tk, Dv]
  Tensor scores;         ///< [B, H, Tq, Tk], scale * query key^T
  Tensor positions;      ///< [B, H, Tq, Tk], added to the scores by relative positions; undefined without them
  Tensor masked;         ///< scores plus positions plus additive mask; -inf where masked
  Tensor probabilities;  ///< softmax of masked
  Tensor dropped;        ///< after dropout
  Tensor context;        ///< [B, H, Tq, Dv], dropped value
  Tensor output;         ///< context in the shape that the call returned
};

/// One call of scaled_dot_product_attention, multi_head_attention or a layer that computes scores itself: the argument
/// of Observer::on_attention().
struct AttentionCall {
  Tensors inputs;  ///< query, key, value and additive mask (or undefined), as passed to the call
  Tensor output;   ///< recorded if an input is
  /// [B, H, Tq, Tk], before dropout; undefined unless the caller or an observer requests them. Their gradient covers
  /// only what was computed from the weights themselves, not the output.
  Tensor weights;
  int64_t heads = 1;  ///< H, the number of query heads
  /// Returns bool, true where a query sees a key, broadcast to [B, H, Tq, Tk]; undefined if all queries see all keys.
  std::function<Tensor()> visible;
  /// Computes the steps for `inputs` or other tensors of the same shapes, with the same mask, scale and dropout, as
  /// separate operations; recorded if the inputs need gradients.
  std::function<AttentionSteps(const Tensors& inputs)> steps;
};

/// Whether an observer of this thread requests the weights of the next attention call.
bool attention_weights_requested();
/// Notifies this thread's observers of a call; `describe` only runs if there is one.
void notify_attention(const std::function<AttentionCall()>& describe);

}  // namespace tape
