#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/gpt.h"
#include "models/transformer.h"

namespace tape::tools {

/// A model with a batch of random tokens, of the sizes that a benchmark's name stands for.
struct BenchModel {
  std::unique_ptr<nn::Module> module;
  std::function<Tensor()> loss;
  int64_t tokens = 0;  ///< a step: of source and target
};

/// The encoder-decoder sizes of `base` and `tiny`; the decoder-only ones of `gpt-char`, `gpt-nano` and `gpt-124m`.
std::vector<std::string> bench_names();
BenchModel make_bench_model(const std::string& name, double dropout);
/// The encoder-decoder model alone: for decoding. Error (config) where the name has none.
std::unique_ptr<models::Transformer> make_bench_transformer(const std::string& name, double dropout);

}  // namespace tape::tools
