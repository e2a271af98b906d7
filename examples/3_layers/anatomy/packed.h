// The library's multi-head attention. Each projection matrix contains the rows of all heads, one head after the other.
#pragma once

#include "separate_heads.h"

/// Copies the weights of separate heads into packed attention, so that both compute the same.
inline void pack(SeparateHeads& separate, tape::nn::MultiHeadAttention& packed) {
  const tape::NoGrad no_grad;
  const auto copy = [&](tape::nn::Child<tape::nn::Linear> AttentionHead::*projection, tape::nn::Linear& to) {
    tape::Tensors weights, biases;
    for (int64_t h = 0; h < separate.heads.size(); ++h) {
      tape::nn::Linear& from = *((*separate.heads[h]).*projection);
      weights.push_back(from.weight);
      biases.push_back(from.bias);
    }
    to.weight.copy_(cat(weights));
    to.bias.copy_(cat(biases));
  };
  copy(&AttentionHead::query, *packed.query);
  copy(&AttentionHead::key, *packed.key);
  copy(&AttentionHead::value, *packed.value);
  packed.output->weight.copy_(separate.output->weight);
  packed.output->bias.copy_(separate.output->bias);
}
