#include "autograd/kernels/norm/norm.h"

#include <algorithm>
#include <cstdint>

#include "autograd/cuda/kernels/norm_rows.h"
#include "autograd/cuda/launch/dropped.h"
#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const ValueKernels kLayerNorm = TAPE_VALUE_KERNELS(layer_norm), kRmsNorm = TAPE_VALUE_KERNELS(rms_norm);
constinit const ValueKernels kLayerNormBackward = TAPE_VALUE_KERNELS(layer_norm_backward);
constinit const ValueKernels kRmsNormBackward = TAPE_VALUE_KERNELS(rms_norm_backward);
constinit const ValueKernels kNormParameterSums = TAPE_VALUE_KERNELS(norm_parameter_sums);

constinit const ValueKernels kLayerNormRows = TAPE_VALUE_KERNELS(layer_norm_rows);
constinit const ValueKernels kRmsNormRows = TAPE_VALUE_KERNELS(rms_norm_rows);
constinit const ValueKernels kLayerNormOfSum = TAPE_VALUE_KERNELS(layer_norm_of_sum);
constinit const ValueKernels kRmsNormOfSum = TAPE_VALUE_KERNELS(rms_norm_of_sum);
constinit const ValueKernels kLayerNormRowsBackward = TAPE_VALUE_KERNELS(layer_norm_rows_backward);
constinit const ValueKernels kRmsNormRowsBackward = TAPE_VALUE_KERNELS(rms_norm_rows_backward);
constinit const ValueKernels kLayerNormOfSumBackward = TAPE_VALUE_KERNELS(layer_norm_of_sum_backward);
constinit const ValueKernels kRmsNormOfSumBackward = TAPE_VALUE_KERNELS(rms_norm_of_sum_backward);
constinit const FloatKernels kNormParameterTotals = TAPE_FLOAT_KERNELS(norm_parameter_totals);

/// Number of threads that hold a row of norm_rows.cu in registers; 0 if they cannot.
template <class T, class... Arrays>
int64_t threads_of_row(int64_t rows, int64_t cols, const Arrays*... arrays) {
  constexpr int64_t kWidth = 16 / sizeof(T), kOfThread = kWidth * NormRows::packs(sizeof(T));
  if (rows == 0 || cols == 0 || cols % kWidth != 0 || cols > kOfThread * NormRows::kMostThreads) return 0;
  if (!begin_at_multiples(16, arrays...)) return 0;
  return cols <= kOfThread * 32 ? 32 : NormRows::kMostThreads;
}

/// Calls run(launch, bytes of shared memory, sums) for one of the backward kernels of norm_rows.cu, and ends the sums
/// of the parameters' gradients that it begins.
template <class T, class Run>
void rows_backward(int64_t threads, int64_t rows, int64_t cols, Sum<T>* dweight, Sum<T>* dbias, const Run& run) {
  Launch launch = over_lines(rows, threads);
  launch.blocks.x = std::min<uint32_t>(launch.blocks.x, NormRows::kMostParts);
  const bool sums = dweight || dbias;
  const int64_t parts = launch.blocks.x;
  const DeviceScratch<Sum<T>> partial(sums ? 2 * parts * cols : 0);
  run(launch, sums ? launch.threads.y * cols * static_cast<int64_t>(sizeof(Sum<T>)) : 0,
      sums ? partial.get() : nullptr);
  if (sums)
    kNormParameterTotals.of<Sum<T>>()({static_cast<uint32_t>(quotient_up(2 * cols, 32))}, {32, 8}, parts, cols,
                                      partial.constant(), dweight, dbias);
}

template <class T, class... A>
void launch_norm(const ValueKernels& kernel, int64_t rows, int64_t cols, A... arguments) {
  const Launch launch = over_lines(rows, threads_per_line(cols, 1));
  kernel.of<T>()(launch.blocks, launch.threads, rows, cols, arguments...);
}

/// dweight = sum of dy n, dbias = sum of dy over all rows. Either may be null, and the mean.
template <class T>
void norm_parameter_gradients(int64_t rows, int64_t cols, const T* x, const Sum<T>* mean, const Sum<T>* rstd,
                              const T* dy, Sum<T>* dweight, Sum<T>* dbias) {
  if (!dweight && !dbias) return;
  constexpr int64_t kRows = 64;
  const int64_t parts = quotient_up(rows, kRows);
  const DeviceScratch<Sum<T>> sums(2 * parts * cols);
  launch_elements(kNormParameterSums.of<T>(), parts * cols, rows, cols, parts, kRows, x, mean, rstd, dy, sums.get());
  if (dweight) sum_of_rows(parts, cols, 2 * cols, sums.constant(), dweight);
  if (dbias) sum_of_rows(parts, cols, 2 * cols, sums.constant() + cols, dbias);
}

template <class T>
void norm_of_layer(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* bias, double eps, T* y,
                   Sum<T>* mean, Sum<T>* rstd) {
  if (const int64_t threads = threads_of_row<T>(rows, cols, x, y, weight, bias)) {
    const Launch launch = over_lines(rows, threads);
    kLayerNormRows.of<T>()(launch.blocks, launch.threads, rows, cols, x, weight, bias, eps, y, mean, rstd);
  } else {
    launch_norm<T>(kLayerNorm, rows, cols, x, weight, bias, eps, y, mean, rstd);
  }
}
// dx may be dy: the sums come first.
template <class T>
void norm_of_layer_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                            const Sum<T>* rstd, const T* dy, const T* added, T* dx, Sum<T>* dweight, Sum<T>* dbias) {
  if (cols == 0) return;
  if (const int64_t threads = threads_of_row<T>(rows, cols, x, dy, added, dx, weight))
    return rows_backward<T>(
        threads, rows, cols, dweight, dbias, [&](const Launch& launch, int64_t shared, Sum<T>* sums) {
          kLayerNormRowsBackward.of<T>().with_shared(launch.blocks, launch.threads, shared, rows, cols, x, weight, mean,
                                                     rstd, dy, added, dx, sums);
        });
  norm_parameter_gradients(rows, cols, x, mean, rstd, dy, dweight, dbias);
  if (dx) launch_norm<T>(kLayerNormBackward, rows, cols, x, weight, mean, rstd, dy, added, dx);
}
template <class T>
void norm_of_squares(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, double eps, T* y, Sum<T>* rstd) {
  if (const int64_t threads = threads_of_row<T>(rows, cols, x, y, weight)) {
    const Launch launch = over_lines(rows, threads);
    kRmsNormRows.of<T>()(launch.blocks, launch.threads, rows, cols, x, weight, eps, y, rstd);
  } else {
    launch_norm<T>(kRmsNorm, rows, cols, x, weight, eps, y, rstd);
  }
}
template <class T>
void norm_of_squares_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                              const T* dy, const T* added, T* dx, Sum<T>* dweight) {
  if (cols == 0) return;
  if (const int64_t threads = threads_of_row<T>(rows, cols, x, dy, added, dx, weight))
    return rows_backward<T>(threads, rows, cols, dweight, nullptr,
                            [&](const Launch& launch, int64_t shared, Sum<T>* sums) {
                              kRmsNormRowsBackward.of<T>().with_shared(launch.blocks, launch.threads, shared, rows,
                                                                       cols, x, weight, rstd, dy, added, dx, sums);
                            });
  norm_parameter_gradients(rows, cols, x, static_cast<const Sum<T>*>(nullptr), rstd, dy, dweight,
                           static_cast<Sum<T>*>(nullptr));
  if (dx) launch_norm<T>(kRmsNormBackward, rows, cols, x, weight, rstd, dy, added, dx);
}

/// The same where draws that share a block belong to one thread.
template <class T, class... Arrays>
int64_t threads_of_drawn_row(int64_t rows, int64_t cols, const Dropout& dropout, const Arrays*... arrays) {
  return dropout.counter % 4 == 0 ? threads_of_row<T>(rows, cols, arrays...) : 0;
}
template <class T>
void norm_of_layer_of_sum(int64_t rows, int64_t cols, const DroppedSum<T>& x, const Sum<T>* weight, const Sum<T>* bias,
                          double eps, T* y, Sum<T>* mean, Sum<T>* rstd) {
  if (const int64_t threads = threads_of_drawn_row<T>(rows, cols, x.dropout, x.a, x.b, x.z, y, weight, bias)) {
    const Launch launch = over_lines(rows, threads);
    kLayerNormOfSum.of<T>()(launch.blocks, launch.threads, rows, cols, x.a, x.b, dropped_by<T>(x.dropout), x.z, weight,
                            bias, eps, y, mean, rstd);
  } else {
    add_dropped(rows * cols, x);
    norm_of_layer<T>(rows, cols, x.z, weight, bias, eps, y, mean, rstd);
  }
}
template <class T>
void norm_of_squares_of_sum(int64_t rows, int64_t cols, const DroppedSum<T>& x, const Sum<T>* weight, double eps, T* y,
                            Sum<T>* rstd) {
  if (const int64_t threads = threads_of_drawn_row<T>(rows, cols, x.dropout, x.a, x.b, x.z, y, weight)) {
    const Launch launch = over_lines(rows, threads);
    kRmsNormOfSum.of<T>()(launch.blocks, launch.threads, rows, cols, x.a, x.b, dropped_by<T>(x.dropout), x.z, weight,
                          eps, y, rstd);
  } else {
    add_dropped(rows * cols, x);
    norm_of_squares<T>(rows, cols, x.z, weight, eps, y, rstd);
  }
}
template <class T>
void norm_of_layer_of_sum_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                                   const Sum<T>* rstd, const T* dy, const T* added, T* dx, Sum<T>* dweight,
                                   Sum<T>* dbias, const Dropout& dropout, T* db) {
  if (const int64_t threads = threads_of_drawn_row<T>(rows, cols, dropout, x, dy, added, dx, db, weight)) {
    rows_backward<T>(threads, rows, cols, dweight, dbias, [&](const Launch& launch, int64_t shared, Sum<T>* sums) {
      kLayerNormOfSumBackward.of<T>().with_shared(launch.blocks, launch.threads, shared, rows, cols, x, weight, mean,
                                                  rstd, dy, added, dx, sums, dropped_by<T>(dropout), db);
    });
  } else {
    norm_of_layer_backward(rows, cols, x, weight, mean, rstd, dy, added, dx, dweight, dbias);
    drop<T>(rows * cols, dropout, dx, db);
  }
}
template <class T>
void norm_of_squares_of_sum_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                                     const T* dy, const T* added, T* dx, Sum<T>* dweight, const Dropout& dropout,
                                     T* db) {
  if (const int64_t threads = threads_of_drawn_row<T>(rows, cols, dropout, x, dy, added, dx, db, weight)) {
    rows_backward<T>(threads, rows, cols, dweight, nullptr, [&](const Launch& launch, int64_t shared, Sum<T>* sums) {
      kRmsNormOfSumBackward.of<T>().with_shared(launch.blocks, launch.threads, shared, rows, cols, x, weight, rstd, dy,
                                                added, dx, sums, dropped_by<T>(dropout), db);
    });
  } else {
    norm_of_squares_backward(rows, cols, x, weight, rstd, dy, added, dx, dweight);
    drop<T>(rows * cols, dropout, dx, db);
  }
}
}  // namespace

TAPE_DEFINE_TABLES(NormKernels, norm, .layer_norm = norm_of_layer<T>, .layer_norm_backward = norm_of_layer_backward<T>,
                   .rms_norm = norm_of_squares<T>, .rms_norm_backward = norm_of_squares_backward<T>,
                   .layer_norm_of_sum = norm_of_layer_of_sum<T>,
                   .layer_norm_of_sum_backward = norm_of_layer_of_sum_backward<T>,
                   .rms_norm_of_sum = norm_of_squares_of_sum<T>,
                   .rms_norm_of_sum_backward = norm_of_squares_of_sum_backward<T>)
extern const NormKernels<BFloat16> norm_bf16 = norm_table<BFloat16>;

}  // namespace tape::kernels::cuda
