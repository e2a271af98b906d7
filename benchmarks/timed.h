#pragma once

#include <benchmark/benchmark.h>
#include <tapeformer.h>

/// Times f(), with gradients if requested.
template <class F>
void run(benchmark::State& state, bool with_gradients, const F& f) {
  if (with_gradients) {
    for (auto _ : state) tape::sum(f()).backward();
  } else {
    const tape::NoGrad no_grad;
    for (auto _ : state) benchmark::DoNotOptimize(f());
  }
}
