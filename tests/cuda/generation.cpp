// Generation on the test device: the tokens of the CPU, without waiting for each of them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <map>
#include <memory>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/cuda/graph.h"
#include "autograd/ops/host_fallbacks.h"
#include "models/decoders/gpt.h"
#include "models/decoders/llama.h"
#include "models/decoding/generate.h"
#include "models/decoding/greedy.h"
#include "models/encoder_decoders/bart.h"
#include "models/encoder_decoders/t5.h"
#include "models/encoder_decoders/transformer.h"
#include "models/encoder_decoders/translate.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"

namespace tape::models {
namespace {

using Ids = std::vector<int64_t>;

const std::vector<Ids> kPrompts{{7}, {2, 6, 3, 6}, {2, 10}, {6, 10, 6, 4, 9, 9}, {3, 4, 5}};

/// What one call generates and reports.
struct Generated {
  std::vector<Ids> tokens;
  std::vector<bool> stopped;
  std::map<int64_t, Ids> reported;  // -1: the end

  bool operator==(const Generated&) const = default;
};

template <class Model>
Generated generated(Model& model, const std::vector<Ids>& prompts, GenerateOptions options, bool report) {
  Generated found;
  if (report)
    options.on_token = [&](int64_t row, std::optional<int64_t> token) {
      found.reported[row].push_back(token.value_or(-1));
    };
  for (const Continuation& text : generate(model, prompts, options)) {
    found.tokens.push_back(text.tokens);
    found.stopped.push_back(text.stopped);
  }
  return found;
}

/// Every way to draw, with and without what ends or changes texts.
std::vector<GenerateOptions> all_options() {
  std::vector<GenerateOptions> all;
  for (const SamplingOptions& sampling : std::vector<SamplingOptions>{
           {.temperature = 0},
           {.temperature = 0, .repetition_penalty = 1.5},
           {.temperature = 1.5},
           {.temperature = 2, .top_k = 5},
           {.temperature = 2, .top_p = 0.8},
           {.temperature = 3, .top_k = 9, .top_p = 0.9, .min_p = 0.1, .repetition_penalty = 1.2}}) {
    all.push_back({.sampling = sampling, .max_new_tokens = 14, .seed = 1, .no_repeat_ngram = 0, .min_new_tokens = 0});
    all.push_back({.sampling = sampling,
                   .max_new_tokens = 9,
                   .stop_ids = Ids{3, 5, 8},
                   .seed = 2,
                   .no_repeat_ngram = 2,
                   .min_new_tokens = 3,
                   .vocabulary = 11});
  }
  return all;
}

BartConfig small_bart(int64_t decoder_layers, int64_t max_length, double init_std = BartConfig().init_std) {
  return {.vocab = 13,
          .d_model = 8,
          .layers = 1,
          .heads = 2,
          .d_ff = 12,
          .decoder_layers = decoder_layers,
          .decoder_heads = 2,
          .decoder_d_ff = 12,
          .max_length = max_length,
          .init_std = init_std};
}
TransformerConfig small_transformer(int64_t max_length) {
  return {.src_vocab = 13,
          .tgt_vocab = 13,
          .d_model = 8,
          .layers = 1,
          .heads = 2,
          .d_ff = 12,
          .max_length = max_length,
          .positions = nn::SinusoidLayout::fairseq};
}
T5Config small_t5(int64_t decoder_layers) {
  return {.vocab = 13,
          .d_model = 8,
          .layers = 1,
          .decoder_layers = decoder_layers,
          .heads = 2,
          .head_width = 4,
          .d_ff = 12};
}

class CudaGeneration : public testing::Test {
 protected:
  /// Compares a model's texts on the device with the CPU's.
  template <class Model>
  void compare(Model& model, const std::vector<Ids>& prompts, const std::vector<GenerateOptions>& calls) {
    std::vector<Generated> expected;
    for (const GenerateOptions& options : calls) expected.push_back(generated(model, prompts, options, true));
    model.to(cuda);
    for (size_t i = 0; i < calls.size(); ++i) {
      SCOPED_TRACE(i);
      EXPECT_EQ(generated(model, prompts, calls[i], true), expected[i]);
      Generated silent = generated(model, prompts, calls[i], false);
      silent.reported = expected[i].reported;
      EXPECT_EQ(silent, expected[i]);
    }
    model.to(cpu);
  }

  const cuda_device::TestDevice device;
};

/// In f64, so that other orders of sums do not change a choice.
std::unique_ptr<Gpt> gpt(int64_t positions) {
  manual_seed(3);
  auto model = std::make_unique<Gpt>(GptConfig{.vocab = 13,
                                               .d_model = 8,
                                               .layers = 2,
                                               .heads = 2,
                                               .max_length = positions,
                                               .bos_id = 1,
                                               .eos_ids = {4},
                                               .init_std = 0.7});
  model->to(f64);
  model->eval();
  return model;
}

TEST_F(CudaGeneration, IsThatOfTheCpu) {
  const auto model = gpt(40);
  compare(*model, kPrompts, all_options());
  compare(*model, {{5, 6, 7}}, all_options());
}

TEST_F(CudaGeneration, SlidesBeyondThePositions) {
  const auto model = gpt(9);
  std::vector<GenerateOptions> calls = all_options();
  calls.resize(6);
  compare(*model, kPrompts, calls);
  for (GenerateOptions& options : calls) options.use_cache = false;
  compare(*model, kPrompts, calls);
}

TEST_F(CudaGeneration, IsThatOfTheCpuWithRotaryPositions) {
  manual_seed(4);
  Llama model({.vocab = 13,
               .d_model = 16,
               .layers = 2,
               .heads = 4,
               .kv_heads = 2,
               .d_ff = 24,
               .bos_id = 1,
               .eos_ids = {4},
               .init_std = 0.5});
  model.to(f64);
  model.eval();
  compare(model, kPrompts, all_options());
}

TEST_F(CudaGeneration, IsThatOfTheCpuForTargets) {
  manual_seed(2);
  Bart model(small_bart(2, 12, 0.7));
  model.to(f64);
  model.eval();
  std::vector<GenerateOptions> calls = all_options();
  compare(model, kPrompts, calls);
  for (GenerateOptions& options : calls) {
    options.forced_bos = 9;
    options.forced_eos = true;
    options.use_cache = options.seed == 1;
  }
  compare(model, kPrompts, calls);
}

TEST_F(CudaGeneration, TranslatesAsTheCpuWithTheCpuAsDefault) {
  manual_seed(2);
  Bart model(small_bart(1, 12, 0.7));
  model.to(f64);
  model.eval();
  const auto here = translate(model, kPrompts, {.beams = 2, .max_length = 6, .alignments = true});
  model.to(cuda);
  const auto there = translate(model, kPrompts, {.beams = 2, .max_length = 6, .alignments = true});
  for (size_t row = 0; row < kPrompts.size(); ++row) {
    EXPECT_EQ(there[row][0].tokens, here[row][0].tokens);
    EXPECT_TRUE(allclose(there[row][0].alignment.to(cpu), here[row][0].alignment, {.rtol = 1e-9, .atol = 1e-10}));
  }
}

TEST_F(CudaGeneration, IsThatOfTheCpuForOtherPositions) {
  std::vector<GenerateOptions> calls = all_options();
  calls.resize(6);
  manual_seed(8);
  Transformer transformer(small_transformer(40));
  T5 t5(small_t5(1));
  for (nn::Module* const module : std::initializer_list<nn::Module*>{&transformer, &t5}) {
    module->to(f64);
    module->eval();
  }
  compare(transformer, kPrompts, calls);
  compare(t5, kPrompts, calls);
}

TEST_F(CudaGeneration, GreedyDecodingIsThatOfTheCpu) {
  manual_seed(6);
  Bart model(small_bart(1, 20, 0.9));
  model.to(f64);
  model.eval();
  const Tensor src = tensor({{3, 4, 1, 1}, {5, 6, 7, 8}, {9, 1, 1, 1}}).to(i64);
  const auto decoded = [&](const Tensor& sources) {
    std::vector<std::vector<Ids>> all;
    for (const int64_t vocabulary : {0, 9})
      for (const bool cache : {true, false})
        all.push_back(greedy_decode(
            model, sources, {.bos = 2, .eos = 4, .max_length = 15, .use_cache = cache, .vocabulary = vocabulary}));
    return all;
  };
  const std::vector<std::vector<Ids>> expected = decoded(src);
  model.to(cuda);
  EXPECT_EQ(decoded(src.to(cuda)), expected);
}

/// How often the host waits for everything on the device.
template <class Model>
int64_t waits_of(Model& model, int64_t tokens, const GenerateOptions& given) {
  GenerateOptions options = given;
  options.max_new_tokens = tokens;
  options.stop_ids = Ids{};
  const int64_t before = cuda_device::waits();
  generate(model, {{5, 6}, {7}}, options);
  return cuda_device::waits() - before;
}

/// The host knows where the positions of fairseq's layout, T5's relative ones and rotations are without the tokens.
TEST_F(CudaGeneration, WaitsForNoToken) {
  const auto model = gpt(64);
  manual_seed(5);
  Llama llama({.vocab = 13, .d_model = 8, .layers = 1, .heads = 2, .d_ff = 12});
  Transformer transformer(small_transformer(64));
  T5 t5(small_t5(1));
  for (nn::Module* const module : std::initializer_list<nn::Module*>{model.get(), &llama, &transformer, &t5}) {
    module->to(cuda);
    module->eval();
  }
  const auto stream = [](int64_t, std::optional<int64_t>) {};
  for (const GenerateOptions& options : std::vector<GenerateOptions>{
           {.sampling = {.temperature = 0}},
           {.sampling = {.temperature = 1, .top_k = 4, .top_p = 0.9, .repetition_penalty = 1.2}, .no_repeat_ngram = 3},
           {.on_token = stream}}) {
    EXPECT_EQ(waits_of(*model, 40, options), 0);
    EXPECT_EQ(waits_of(llama, 40, options), 0);
    EXPECT_EQ(waits_of(transformer, 40, options), waits_of(transformer, 10, options));
    EXPECT_EQ(waits_of(t5, 40, options), waits_of(t5, 10, options));
  }
}

TEST_F(CudaGeneration, ComputesNothingOnTheHost) {
  const auto model = gpt(9);
  model->to(cuda);
  const auto before = host_fallbacks();
  for (const GenerateOptions& options : all_options()) generate(*model, kPrompts, options);
  EXPECT_EQ(host_fallbacks(), before);
}

TEST_F(CudaGeneration, NamesATokenWhoseScoreIsNaN) {
  const auto model = gpt(20);
  const NoGrad no_grad;
  model->embeddings->token->weight.fill_(std::numeric_limits<double>::quiet_NaN());
  model->to(cuda);
  for (const bool cache : {true, false}) {
    EXPECT_TAPE_ERROR(generate(*model, {{7}}, {.use_cache = cache}), ErrorKind::numeric,
                      "generate: the score of token 0 is nan");
    EXPECT_TAPE_ERROR(generate(*model, {{7}, {5}}, {.sampling = {.temperature = 0}, .use_cache = cache}),
                      ErrorKind::numeric, "generate: the highest score, of token 0, is nan");
  }
}

/// Launches of a token repeat except for arguments, so that tokens are launched as graphs.
class CudaGenerationGraphs : public testing::Test {
 protected:
  /// Collects launches in the contexts of the device.
  struct Collected {
    Collected() { setenv("TAPE_CUDA_GRAPHS", "1", 1); }
    ~Collected() { unsetenv("TAPE_CUDA_GRAPHS"); }
  };

  /// The first tokens, and those for which a cache doubles its capacity, have launches of their own.
  template <class Model>
  static void expect_graphs(Model& model, const std::vector<Ids>& prompts) {
    constexpr int64_t kTokens = 64, kOwnLaunches = 8;
    model.to(cuda);
    model.eval();
    const cuda_device::GraphStatistics before = cuda_device::graph_statistics();
    generate(model, prompts,
             {.sampling = {.temperature = 1, .top_k = 5, .repetition_penalty = 1.1},
              .max_new_tokens = kTokens,
              .stop_ids = Ids{}});
    const cuda_device::GraphStatistics after = cuda_device::graph_statistics();
    EXPECT_GE(after.graph_launches - before.graph_launches, kTokens - kOwnLaunches);
    EXPECT_GT(after.by_graph - before.by_graph, 6 * (after.plainly - before.plainly));
    EXPECT_LE(after.graphs - before.graphs, 4);
  }

  const Collected on;
  const cuda_device::TestDevice device;
};

TEST_F(CudaGenerationGraphs, HaveMostTokens) {
  const auto model = gpt(128);
  expect_graphs(*model, {{5}});
  expect_graphs(*model, kPrompts);
}

TEST_F(CudaGenerationGraphs, HaveMostTokensWithRotaryPositions) {
  Llama llama({.vocab = 13, .d_model = 16, .layers = 2, .heads = 4, .kv_heads = 2, .d_ff = 12});
  expect_graphs(llama, {{5}});
  expect_graphs(llama, kPrompts);
}

TEST_F(CudaGenerationGraphs, HaveMostTokensOfTargets) {
  Bart bart(small_bart(2, 100));
  expect_graphs(bart, kPrompts);
  T5 t5(small_t5(2));
  expect_graphs(t5, {{5, 6}});
}

}  // namespace
}  // namespace tape::models
