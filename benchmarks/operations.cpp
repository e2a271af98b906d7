// Single operations, forward and forward with backward: bench_operations [--benchmark_filter=linear]
#include <benchmark/benchmark.h>
#include <tapeformer.h>

#include "autograd/kernels/product/common/gemm.h"
#include "benchmarks/timed.h"

using namespace tape;

namespace {

double numbers(std::initializer_list<int64_t> sizes) {
  double product = 1;
  for (const int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

void rate(benchmark::State& state, const char* name, double each) {
  state.counters[name] = benchmark::Counter(each, benchmark::Counter::kIsIterationInvariantRate);
}

void linear_(benchmark::State& state) {
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  Tensor x = randn({rows, in}).requires_grad_(), w = randn({out, in}).requires_grad_(),
         b = randn({out}).requires_grad_();
  const bool gradients = state.range(3) != 0;
  run(state, gradients, [&] { return linear(x, w, b); });
  rate(state, "flops", (gradients ? 6 : 2) * numbers({rows, in, out}));
}
BENCHMARK(linear_)
    ->ArgNames({"rows", "in", "out", "gradients"})
    ->ArgsProduct({{1024}, {512}, {512, 2048}, {0, 1}})
    ->Args({768, 128, 512, 1})
    ->Args({4096, 384, 1536, 1})
    ->Args({1, 512, 2048, 0})
    ->Args({32, 512, 2048, 0})
    ->UseRealTime();

/// Products of a few rows with alternating weights, as in a decoder: none is in the L2 cache.
/// Precisions are highest (0), high (1) and medium (2).
void decoder_linear(benchmark::State& state) {
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const MatmulPrecisionScope precision(static_cast<MatmulPrecision>(state.range(3)));
  const NoGrad no_grad;
  const Tensor x = randn({rows, in});
  Tensors weights;
  for (int i = 0; i < 8; ++i) weights.push_back(randn({out, in}));
  for (const Tensor& weight : weights) keep_packed(weight, state.range(4) != 0);
  for (auto _ : state)
    for (const Tensor& weight : weights) benchmark::DoNotOptimize(linear(x, weight));
  rate(state, "flops", 2 * 8 * numbers({rows, in, out}));
}
BENCHMARK(decoder_linear)
    ->ArgNames({"rows", "in", "out", "precision", "packed"})
    ->ArgsProduct({{1, 2, 4, 5, 6, 7, 8, 10, 12, 16, 24, 32, 64, 128}, {512}, {2048}, {0, 1, 2}, {0, 1}})
    ->UseRealTime();

/// Searches of a vocabulary with stored packed weights. The weights alternate, so that none is in the caches.
template <class F>
void vocabulary_search(benchmark::State& state, const F& f) {
  const int64_t rows = state.range(0), words = state.range(1), width = state.range(2);
  const NoGrad no_grad;
  const Tensor x = randn({rows, width});
  Tensors weights;
  for (int i = 0; i < 3; ++i) weights.push_back(randn({words, width}));
  for (const Tensor& weight : weights) keep_packed(weight, true);
  const bool int8 = state.range(3) != 0;
  for (const Tensor& weight : weights)
    for (int64_t i = 0; i <= kReadsBeforeInt8; ++i) linear_max(x, weight);
  for (auto _ : state)
    for (const Tensor& weight : weights) benchmark::DoNotOptimize(f(x, weight, int8));
  rate(state, "weights", static_cast<double>(weights.size()));
}
void linear_max_(benchmark::State& state) {
  vocabulary_search(state, [](const Tensor& x, const Tensor& weight, bool int8) {
    return int8 ? linear_max(x, weight) : max_with_index(linear(x, weight));
  });
}
void linear_top_k_(benchmark::State& state) {
  vocabulary_search(state, [](const Tensor& x, const Tensor& weight, bool int8) {
    return int8 ? linear_top_k(x, weight, {}, 50) : linear(x, weight);
  });
}
void vocabularies(benchmark::internal::Benchmark* b) {
  for (const int64_t rows : {1, 2, 4, 8, 16, 32, 64, 128})
    for (const auto& [words, width] : {std::pair{10000, 512}, {50257, 768}, {128112, 1024}})
      for (const int int8 : {0, 1})
        if (rows == 1 || int8 == 0) b->Args({rows, words, width, int8});
}
BENCHMARK(linear_max_)->ArgNames({"rows", "words", "width", "int8"})->Apply(vocabularies)->UseRealTime();
BENCHMARK(linear_top_k_)->ArgNames({"rows", "words", "width", "int8"})->Apply(vocabularies)->UseRealTime();

template <class F>
void over_rows(benchmark::State& state, const F& f) {
  const int64_t rows = state.range(0), width = state.range(1);
  Tensor x = randn({rows, width}).requires_grad_();
  run(state, state.range(2) != 0, [&] { return f(x); });
  rate(state, "elements", numbers({rows, width}));
}
void gelu_(benchmark::State& state) {
  over_rows(state, [](const Tensor& x) { return gelu(x); });
}
void dropout_(benchmark::State& state) {
  over_rows(state, [](const Tensor& x) { return dropout(x, 0.1); });
}
void softmax_(benchmark::State& state) {
  over_rows(state, [](const Tensor& x) { return softmax(x, -1); });
}
void layer_norm_(benchmark::State& state) {
  const Tensor weight = ones({state.range(1)}).requires_grad_(), bias = zeros({state.range(1)}).requires_grad_();
  over_rows(state, [&](const Tensor& x) { return layer_norm(x, weight, bias); });
}
void cross_entropy_(benchmark::State& state) {
  const Tensor target = randint(0, state.range(1), {state.range(0)});
  over_rows(state, [&](const Tensor& x) { return cross_entropy(x, target, {.label_smoothing = 0.1}); });
}
void sizes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"rows", "width", "gradients"})->ArgsProduct({{1024}, {512, 2048}, {0, 1}})->UseRealTime();
}
BENCHMARK(gelu_)->Apply(sizes);
BENCHMARK(dropout_)->Apply(sizes);
BENCHMARK(softmax_)->Apply(sizes);
BENCHMARK(layer_norm_)->Apply(sizes);
BENCHMARK(cross_entropy_)->ArgNames({"rows", "width", "gradients"})->Args({1024, 10000, 1})->UseRealTime();

/// The top-k search over the logits in beam search.
void topk_(benchmark::State& state) {
  const NoGrad no_grad;
  const Tensor x = randn({state.range(0), state.range(1)});
  for (auto _ : state) benchmark::DoNotOptimize(topk(x, state.range(2)));
  rate(state, "elements", numbers({state.range(0), state.range(1)}));
}
BENCHMARK(topk_)->ArgNames({"rows", "width", "k"})->ArgsProduct({{1, 16, 128}, {10000, 128112}, {10}})->UseRealTime();

/// Forward and backward; block 0: the two separate operations, with all logits.
void linear_cross_entropy_(benchmark::State& state) {
  const int64_t rows = state.range(0), width = state.range(1), words = state.range(2), block = state.range(3);
  const Tensor x = randn({rows, width}).requires_grad_(), target = randint(0, words, {rows});
  const Tensor weight = (randn({words, width}) * 0.02).detach().requires_grad_();
  for (auto _ : state) {
    const Tensor loss =
        block == 0 ? cross_entropy(linear(x, weight), target) : linear_cross_entropy(x, weight, {}, target, {}, block);
    benchmark::DoNotOptimize(grad({loss}, {x, weight}));
  }
  rate(state, "rows", static_cast<double>(rows));
}
BENCHMARK(linear_cross_entropy_)
    ->ArgNames({"rows", "width", "words", "block"})
    ->ArgsProduct({{2048}, {768}, {50257}, {0, 128, 512}})
    ->ArgsProduct({{4096}, {128}, {10000}, {0, 128, 512}})
    ->UseRealTime();

void adam(benchmark::State& state) {
  Tensor parameter = randn({state.range(0)}).requires_grad_();
  parameter.set_grad(randn({state.range(0)}));
  optim::Adam optimizer({parameter}, {.lr = 1e-4});
  for (auto _ : state) optimizer.step();
  rate(state, "elements", static_cast<double>(state.range(0)));
}
BENCHMARK(adam)->Arg(1 << 16)->Arg(1 << 24)->UseRealTime();

/// The overhead of the tape: the operations are too small to cost anything else.
void chain_of_additions(benchmark::State& state) {
  const int64_t length = state.range(0);
  const Tensor x = randn({8}).requires_grad_(), y = randn({8});
  for (auto _ : state) {
    Tensor z = x;
    for (int64_t i = 0; i < length; ++i) z = z + y;
    sum(z).backward();
  }
  rate(state, "operations", static_cast<double>(length));
}
BENCHMARK(chain_of_additions)->Arg(1000)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
