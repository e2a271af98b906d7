// Linear algebra, forward and with gradients: bench_linalg [--benchmark_filter=cholesky]. pytorch_linalg.py times the
// same calls in PyTorch.
#include <benchmark/benchmark.h>
#include <tapeformer.h>

using namespace tape;

namespace {

/// Matrices [batch, n, n] with n on the diagonal: invertible, and positive definite after adding the transpose.
Tensor matrices(const benchmark::State& state) {
  const int64_t batch = state.range(0), n = state.range(1);
  return randn({batch, n, n}) + eye(n) * (4 * static_cast<double>(n));
}

/// Times f(a) for matrices [batch, n, n], with gradients if the last argument is 1.
template <class F>
void run(benchmark::State& state, const Tensor& given, const F& f) {
  Tensor a = given.clone();
  if (state.range(2) != 0) {
    a.requires_grad_();
    for (auto _ : state) sum(f(a)).backward();
  } else {
    const NoGrad no_grad;
    for (auto _ : state) benchmark::DoNotOptimize(f(a));
  }
  state.counters["matrices"] =
      benchmark::Counter(static_cast<double>(state.range(0)), benchmark::Counter::kIsIterationInvariantRate);
}

template <class F>
void add(const char* name, const F& f, bool symmetric = false) {
  benchmark::RegisterBenchmark(name,
                               [f, symmetric](benchmark::State& state) {
                                 manual_seed(1);  // nearly equal singular values have no gradient
                                 const Tensor a = matrices(state);
                                 run(state, symmetric ? a + transpose(a) : a, f);
                               })
      ->ArgNames({"batch", "n", "gradients"})
      ->ArgsProduct({{256}, {4, 32}, {0, 1}})
      ->ArgsProduct({{1}, {128, 512}, {0, 1}})
      ->UseRealTime();
}

}  // namespace

int main(int argc, char** argv) {
  add(
      "cholesky", [](const Tensor& a) { return linalg::cholesky(a); }, true);
  add("solve", [](const Tensor& a) { return linalg::solve(a, a); });
  add("solve_triangular", [](const Tensor& a) { return linalg::solve_triangular(a, a, {}); });
  add("inv", linalg::inv);
  add("slogdet", [](const Tensor& a) { return linalg::slogdet(a).logabsdet; });
  add("qr", [](const Tensor& a) { return linalg::qr(a).r; });
  add(
      "eigh", [](const Tensor& a) { return square(linalg::eigh(a).eigenvectors); }, true);
  add(
      "eigvalsh", [](const Tensor& a) { return linalg::eigvalsh(a); }, true);
  add("svd", [](const Tensor& a) { return square(linalg::svd(a).u); });
  add("svdvals", linalg::svdvals);
  add("pinv", [](const Tensor& a) { return linalg::pinv(a); });
  add("matrix_exp", [](const Tensor& a) { return linalg::matrix_exp(a * (0.25 / static_cast<double>(a.size(-1)))); });
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
