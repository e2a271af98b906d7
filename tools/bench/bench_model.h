#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/decoders/gpt.h"
#include "models/decoders/llama.h"
#include "models/encoder_decoders/transformer.h"

namespace tape::tools {

/// The model of a named benchmark, with a batch of random tokens.
struct BenchModel {
  std::unique_ptr<nn::Module> module;
  std::function<Tensor()> loss;
  int64_t tokens = 0;  ///< per step: source and target, all ranks
  double part = 1;     ///< this rank's share of the rows
};

/// Names of all benchmarks: encoder-decoders `base` and `tiny`, decoders `gpt-char`, `gpt-nano`, `gpt-124m`,
/// `gpt-300m`.
std::vector<std::string> bench_names();
/// The batch is shared by `ranks` processes: rank r gets rows r, r + ranks, r + 2 ranks, ... On a GPU, `gpt-char`,
/// `base` and `gpt-124m` have larger batches, and `gpt-124m` is GPT-2 with a vocabulary of 50,304 and tied embeddings.
BenchModel make_bench_model(const std::string& name, double dropout, int rank = 0, int ranks = 1);
/// GPT-2 of 124 million parameters, for decoding.
std::unique_ptr<models::CausalLM> make_bench_gpt2();
/// Only the encoder-decoder model, for decoding. Throws Error (config) if the name is not an encoder-decoder.
std::unique_ptr<models::Transformer> make_bench_transformer(const std::string& name, double dropout);

}  // namespace tape::tools
