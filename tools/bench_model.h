#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/decoders/gpt.h"
#include "models/decoders/llama.h"
#include "models/encoder_decoders/transformer.h"

namespace tape::tools {

/// A model with a batch of random tokens, of the sizes that a benchmark's name stands for.
struct BenchModel {
  std::unique_ptr<nn::Module> module;
  std::function<Tensor()> loss;
  int64_t tokens = 0;  ///< a step: of source and target, of all ranks
  double part = 1;     ///< of the rows that are this rank's
};

/// The encoder-decoder sizes of `base` and `tiny`; the decoder-only ones of `gpt-char`, `gpt-nano`, `gpt-124m` and
/// `gpt-300m`.
std::vector<std::string> bench_names();
/// Of `ranks` processes that share the batch, number `rank` has every so many-th row from that number on.
BenchModel make_bench_model(const std::string& name, double dropout, int rank = 0, int ranks = 1);
/// The encoder-decoder model alone: for decoding. Error (config) where the name has none.
std::unique_ptr<models::Transformer> make_bench_transformer(const std::string& name, double dropout);

}  // namespace tape::tools
