#pragma once

#include <functional>

#include "../../tensor.h"

namespace tape {

/// Attention step by step, H heads apart; see scaled_dot_product_attention.
struct AttentionSteps {
  Tensor query;          ///< [B, H, Tq, D]
  Tensor key;            ///< [B, H, Tk, D]
  Tensor value;          ///< [B, H, Tk, Dv]
  Tensor scores;         ///< [B, H, Tq, Tk], scale * query key^T
  Tensor positions;      ///< the same shape, what relative positions add to the scores; undefined without
  Tensor masked;         ///< with that and what the mask adds, -inf where it hides
  Tensor probabilities;  ///< softmax of these
  Tensor dropped;        ///< after dropout
  Tensor context;        ///< [B, H, Tq, Dv], dropped value
  Tensor output;         ///< the context in the shape that the call returned
};

/// What one call of scaled_dot_product_attention, multi_head_attention or a layer with its own scores computed: the
/// argument of Observer::on_attention().
struct AttentionCall {
  Tensors inputs;  ///< query, key, value and the additive mask (or undefined), as the call was given them
  Tensor output;   ///< on the tape where an input is
  /// [B, H, Tq, Tk], before dropout; undefined unless the call was one with weights, or an observer wants them. Their
  /// gradient is of what was made from them alone.
  Tensor weights;
  int64_t heads = 1;
  /// Gives: bool, true where a query sees a key, broadcast to [B, H, Tq, Tk]; undefined where it sees all.
  std::function<Tensor()> visible;
  /// Computes the steps of `inputs`, or of other tensors of the same shapes, with the same mask, scale and dropout:
  /// operation by operation, recorded where its inputs need gradients.
  std::function<AttentionSteps(const Tensors& inputs)> steps;
};

/// Whether an observer of this thread asks for the weights of the attention that is about to be computed.
bool attention_weights_wanted();
/// Tells the observers of this thread of a call, which is described where there is one.
void tell_attended(const std::function<AttentionCall()>& describe);

}  // namespace tape
