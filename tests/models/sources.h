#pragma once

#include <algorithm>
#include <vector>

#include "autograd/create.h"
#include "autograd/random.h"
#include "models/encoder_decoders/transformer.h"

namespace tape {

// Shared by the tests of greedy and beam search.

/// Source ids [batch, length] for models of 13 words.
inline Tensor sources(uint64_t seed, int64_t batch, int64_t length) {
  Generator stream(seed);
  Tensor ids = randint(1, 13, {batch, length}, stream);
  for (int64_t row = 0; row < batch; ++row)  // each row has one more position of padding
    for (int64_t t = std::max<int64_t>(1, length - row); t < length; ++t)
      ids.mutable_data<int64_t>()[row * length + t] = 0;
  return ids;
}

/// A model whose tokens vary and end; with initial weights the same token would win at every position. A larger bias
/// for the end makes rows end sooner.
struct Lively : models::Transformer {
  explicit Lively(uint64_t seed, int64_t vocab = 12, double end = 1, DType dtype = f64)
      : Transformer(
            (manual_seed(seed), models::TransformerConfig{.src_vocab = 13,
                                                          .tgt_vocab = vocab,
                                                          .d_model = 16,
                                                          .layers = 2,
                                                          .heads = 4,
                                                          .d_ff = 24,
                                                          .norm = seed % 2 ? nn::NormPlace::post : nn::NormPlace::pre,
                                                          .max_length = 40})) {
    const NoGrad no_grad;
    for (Tensor& parameter : parameters())
      if (parameter.rank() == 2) parameter.mul_(2.5);
    output->bias.mutable_data<float>()[2] = static_cast<float>(end);
    to(dtype);
    eval();
  }
};

/// Sets the output's bias so that the model generates a given token.
inline void prefer(models::Transformer& model, int64_t word) {
  const NoGrad no_grad;
  model.output->weight.zero_();
  std::vector<double> bias(static_cast<size_t>(model.output->bias.numel()), 0);
  bias[static_cast<size_t>(word)] = 9;
  model.output->bias.copy_(from_vector(bias));
}

}  // namespace tape
