#pragma once

#include "autograd/create.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/gradcheck/gradcheck.h"

namespace tape::models {

/// A model small enough for central differences.
inline TransformerConfig checked_config(nn::ActivationKind activation, int64_t d_ff = 4) {
  return {.src_vocab = 5,
          .tgt_vocab = 5,
          .d_model = 4,
          .layers = 2,
          .heads = 2,
          .d_ff = d_ff,
          .dropout = 0.1,
          .activation = activation,
          .max_length = 4};
}

/// Its source and target ids, one of which is padding.
inline Tensors checked_ids() { return {tensor({{1, 2, 4}, {3, 1, 0}}, i64), tensor({{1, 4}, {2, 3}}, i64)}; }

/// Checks a few elements of each parameter. Key biases may have zero gradients, because softmax ignores a constant
/// added to all keys.
inline GradcheckOptions checked_options(const nn::Module& model) {
  GradcheckOptions options{.max_elements = 3};
  for (const NamedTensor& parameter : model.named_parameters())
    if (parameter.name.ends_with("key.bias")) options.allow_zero.push_back(parameter.name);
  return options;
}

}  // namespace tape::models
