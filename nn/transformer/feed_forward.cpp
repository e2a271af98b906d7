#include "nn/transformer/feed_forward.h"

namespace tape::nn {

FeedForward::FeedForward(int64_t d_model, int64_t d_ff, const FeedForwardOptions& options)
    : linear1(this, "linear1", d_model, d_ff, {options.bias}),
      activation(this, "activation", options.activation),
      dropout(this, "dropout", options.dropout),
      linear2(this, "linear2", d_ff, d_model, {options.bias}) {}

Tensor FeedForward::forward(const Tensor& x) { return linear2(dropout(activation(linear1(x)))); }

}  // namespace tape::nn
