// Attention with windows and grouped heads, attention for one new token, and rotary embeddings:
// bench_attention [--benchmark_filter=rotary]. pytorch_attention.py times the same calls in PyTorch.
#include <benchmark/benchmark.h>
#include <tapeformer.h>

#include "benchmarks/timed.h"

using namespace tape;

namespace {

Tensor operand(int64_t batch, int64_t length, int64_t width) { return randn({batch, length, width}).requires_grad_(); }

/// Causal attention over the last `window` keys (0: all), with K key/value heads.
void attention(benchmark::State& state) {
  const int64_t batch = state.range(0), heads = state.range(1), shared = state.range(2), length = state.range(3);
  const int64_t width = state.range(4), window = state.range(5);
  const Tensor q = operand(batch, length, heads * width), k = operand(batch, length, shared * width),
               v = operand(batch, length, shared * width);
  AttentionOptions options{.mask = window ? Mask::window(window - 1, 0) : Mask::causal(), .enable_gqa = shared < heads};
  options.dropout = static_cast<double>(state.range(6)) / 100;
  run(state, state.range(7) != 0, [&] { return multi_head_attention(q, k, v, heads, options); });
}
BENCHMARK(attention)
    ->ArgNames({"B", "H", "K", "T", "D", "window", "dropout%", "gradients"})
    ->ArgsProduct({{16}, {6}, {6}, {256}, {64}, {0}, {0, 20}, {0, 1}})
    ->ArgsProduct({{1}, {8}, {8, 2, 1}, {2048}, {64}, {0, 256}, {0}, {0, 1}})
    ->UseRealTime();

/// One new token for each of `batch` texts after T keys, in the layout of a decoder's cache.
void next_token(benchmark::State& state) {
  const int64_t batch = state.range(0), heads = state.range(1), shared = state.range(2), length = state.range(3);
  const int64_t window = state.range(4), width = 64;
  const Tensor q = operand(batch, 1, heads * width), k = operand(batch, length, shared * width),
               v = operand(batch, length, shared * width);
  const Mask mask = window ? Mask::window(window - 1, 0, length - 1) : Mask::causal(length - 1);
  run(state, false, [&] { return multi_head_attention(q, k, v, heads, {.mask = mask, .enable_gqa = shared < heads}); });
}
BENCHMARK(next_token)
    ->ArgNames({"B", "H", "K", "T", "window"})
    ->ArgsProduct({{1, 8}, {8}, {8, 2}, {2048}, {0, 256}})
    ->UseRealTime();

/// Rotary embedding of queries with 8 heads.
void rotary(benchmark::State& state) {
  const int64_t batch = state.range(0), length = state.range(1), width = 64;
  const Tensor x = operand(batch, length, 8 * width), table = randn({length, width / 2});
  const RotaryEmbeddingOptions options{.num_heads = 8, .interleaved = state.range(2) != 0};
  std::optional<Composed> composed;
  if (state.range(3)) composed.emplace();
  run(state, state.range(4) != 0, [&] { return rotary_embedding(x, table, table, options); });
}
BENCHMARK(rotary)
    ->ArgNames({"B", "T", "interleaved", "composed", "gradients"})
    ->ArgsProduct({{8}, {512}, {0, 1}, {0, 1}, {0, 1}})
    ->ArgsProduct({{1}, {1}, {0}, {0, 1}, {0}})
    ->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
