#include "nn/transformer/gated_feed_forward.h"

#include "autograd/ops/elementwise/arithmetic.h"

namespace tape::nn {

GatedFeedForward::GatedFeedForward(int64_t d_model, int64_t d_ff, const GatedFeedForwardOptions& options)
    : gate(this, "gate", d_model, d_ff, {options.bias}),
      up(this, "up", d_model, d_ff, {options.bias}),
      activation(this, "activation", options.activation),
      dropout(this, "dropout", options.dropout),
      down(this, "down", d_ff, d_model, {options.bias}) {}

Tensor GatedFeedForward::forward(const Tensor& x) {
  const Tensor gates = gate(x), values = up(x);  // a GPU launches both together
  return down(dropout(activation(gates) * values));
}

}  // namespace tape::nn
