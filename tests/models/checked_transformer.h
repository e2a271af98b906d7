#pragma once

#include "autograd/create.h"
#include "models/encoder_decoders/transformer.h"
#include "nn/gradcheck/gradcheck.h"

namespace tape::models {

/// Small enough for central differences.
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

/// Source and target ids for it, one of them padding.
inline Tensors checked_ids() { return {tensor({{1, 2, 4}, {3, 1, 0}}, i64), tensor({{1, 4}, {2, 3}}, i64)}; }

/// A few elements of each parameter; the biases of keys may have no gradient, for softmax does not see what is added to
/// all keys alike.
inline GradcheckOptions checked_options(const nn::Module& model) {
  GradcheckOptions options{.max_elements = 3};
  for (const NamedTensor& parameter : model.named_parameters())
    if (parameter.name.ends_with("key.bias")) options.allow_zero.push_back(parameter.name);
  return options;
}

}  // namespace tape::models
