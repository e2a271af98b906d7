#include "autograd/kernels/gemm.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace tape::kernels {
namespace {

void cblas_gemm(const Gemm& s, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans, s.transpose_b ? CblasTrans : CblasNoTrans,
              static_cast<blasint>(s.m), static_cast<blasint>(s.n), static_cast<blasint>(s.k),
              static_cast<float>(s.alpha), a, static_cast<blasint>(s.lda), b, static_cast<blasint>(s.ldb),
              static_cast<float>(s.beta), c, static_cast<blasint>(s.ldc));
}
void cblas_gemm(const Gemm& s, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, s.transpose_a ? CblasTrans : CblasNoTrans, s.transpose_b ? CblasTrans : CblasNoTrans,
              static_cast<blasint>(s.m), static_cast<blasint>(s.n), static_cast<blasint>(s.k), s.alpha, a,
              static_cast<blasint>(s.lda), b, static_cast<blasint>(s.ldb), s.beta, c, static_cast<blasint>(s.ldc));
}

/// C = beta * C for an empty inner size; beta 0 overwrites even NaN, as BLAS has it.
template <class T>
void scale_only(const Gemm& s, T* c) {
  const T beta = static_cast<T>(s.beta);
  for (int64_t i = 0; i < s.m; ++i)
    for (int64_t j = 0; j < s.n; ++j) c[i * s.ldc + j] = beta == T(0) ? T(0) : beta * c[i * s.ldc + j];
}

/// A large product as one part of its rows, or columns, a thread. OpenBLAS's own threads wait for each other several
/// times within a product, and hand the core to any other process while they do: on a machine that is not idle that
/// costs more than the product. Parts wait once, at the end.
template <class T>
void run_in_parts(const Gemm& s, const T* a, const T* b, T* c) {
  constexpr int64_t kStep = 16;  // whole tiles of the products' kernels
  const bool by_rows = s.m >= s.n;
  const int64_t length = by_rows ? s.m : s.n;
  const double work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const int64_t parts = work < 1e6 || omp_in_parallel() ? 1 : std::min<int64_t>(omp_get_max_threads(), length / kStep);
  if (parts <= 1) return cblas_gemm(s, a, b, c);
  const int64_t size = (length / parts + kStep - 1) / kStep * kStep;
#pragma omp parallel for schedule(static) num_threads(static_cast<int>(parts))
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t begin = std::min(part * size, length);
    const int64_t end = part + 1 == parts ? length : std::min(begin + size, length);
    if (begin == end) continue;
    Gemm piece = s;
    (by_rows ? piece.m : piece.n) = end - begin;
    const T* const a_part = !by_rows ? a : s.transpose_a ? a + begin : a + begin * s.lda;
    const T* const b_part = by_rows ? b : s.transpose_b ? b + begin * s.ldb : b + begin;
    cblas_gemm(piece, a_part, b_part, by_rows ? c + begin * s.ldc : c + begin);
  }
}

template <class T>
void run(const Gemm& s, const T* a, const T* b, T* c) {
  if (s.m == 0 || s.n == 0) return;
  if (s.k == 0) return scale_only(s, c);
  // BLAS refuses a leading dimension below the row's length even where there is one row and it is never used.
  Gemm shape = s;
  const auto at_least = [](int64_t& leading, int64_t length, bool one_row) {
    if (one_row && leading < length) leading = length;
  };
  at_least(shape.lda, s.transpose_a ? s.m : s.k, (s.transpose_a ? s.k : s.m) == 1);
  at_least(shape.ldb, s.transpose_b ? s.k : s.n, (s.transpose_b ? s.n : s.k) == 1);
  at_least(shape.ldc, s.n, s.m == 1);
  run_in_parts(shape, a, b, c);
}

template <class T>
void run_batched(const Gemm& s, int64_t count, const T* a, const int64_t* offsets_a, const T* b,
                 const int64_t* offsets_b, T* c, const int64_t* offsets_c) {
  // Below about two million multiplications a product does not keep several threads busy.
  const double work = static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const bool parallel = count > 1 && work < 2e6 && work * static_cast<double>(count) > 1e5 && !omp_in_parallel() &&
                        omp_get_max_threads() > 1;
  const auto product = [&](int64_t i) { run(s, a + offsets_a[i], b + offsets_b[i], c + offsets_c[i]); };
  // Not an `if` clause: a region that it makes serial is a region still, and the threads that BLAS starts inside one
  // are new ones each time.
  if (!parallel) {
    for (int64_t i = 0; i < count; ++i) product(i);
    return;
  }
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; ++i) product(i);
}
}  // namespace

void gemm(const Gemm& shape, const float* a, const float* b, float* c) { run(shape, a, b, c); }
void gemm(const Gemm& shape, const double* a, const double* b, double* c) { run(shape, a, b, c); }

void gemm_batched(const Gemm& shape, int64_t count, const float* a, const int64_t* offsets_a, const float* b,
                  const int64_t* offsets_b, float* c, const int64_t* offsets_c) {
  run_batched(shape, count, a, offsets_a, b, offsets_b, c, offsets_c);
}
void gemm_batched(const Gemm& shape, int64_t count, const double* a, const int64_t* offsets_a, const double* b,
                  const int64_t* offsets_b, double* c, const int64_t* offsets_c) {
  run_batched(shape, count, a, offsets_a, b, offsets_b, c, offsets_c);
}

int num_threads() { return omp_get_max_threads(); }

void set_num_threads(int threads) {
  if (threads < 1) threads = 1;
  omp_set_num_threads(threads);
  openblas_set_num_threads(threads);
}

BlasInfo blas_info() {
  BlasInfo info;
  const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 DYNAMIC_ARCH ... MAX_THREADS=64"
  const auto name_end = config.find(' ');
  info.version = config.substr(0, name_end == std::string::npos ? name_end : config.find(' ', name_end + 1));
  info.core = openblas_get_corename();
  const int threading = openblas_get_parallel();
  info.threading = threading == OPENBLAS_OPENMP ? "openmp" : threading == OPENBLAS_THREAD ? "pthread" : "sequential";
  const char* core_type = std::getenv("OPENBLAS_CORETYPE");
  info.overridden = core_type && *core_type;
  return info;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "unknown CPU";
}

}  // namespace tape::kernels
