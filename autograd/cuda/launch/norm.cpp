#include "autograd/kernels/norm/norm.h"

#include <algorithm>
#include <cstdint>

#include "autograd/cuda/kernels/norm/norm_rows.h"
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

/// Number of values of a row that a thread of norm_rows.cu holds.
template <class T>
constexpr int64_t kRowOfThread = 16 / sizeof(T) * NormRows::packs(sizeof(T));

/// Number of threads that hold a row of norm_rows.cu in registers; 0 if they cannot.
template <class T>
int64_t threads_of_row(int64_t rows, int64_t cols) {
  constexpr int64_t kWidth = 16 / sizeof(T);
  if (rows == 0 || cols == 0 || cols % kWidth != 0 || cols > kRowOfThread<T> * NormRows::kMostThreads) return 0;
  return cols <= kRowOfThread<T> * 32 ? 32 : NormRows::kMostThreads;
}
/// The same for rows that begin anywhere.
template <class T, class... Arrays>
int64_t threads_of_row(int64_t rows, int64_t cols, const Arrays*... arrays) {
  return begin_at_multiples(16, arrays...) ? threads_of_row<T>(rows, cols) : 0;
}
/// The same where draws that share a block of random numbers belong to one thread.
template <class T, class... Arrays>
int64_t threads_of_drawn_row(int64_t rows, int64_t cols, const Dropout& dropout, const Arrays*... arrays) {
  return dropout.counter % 4 == 0 ? threads_of_row<T>(rows, cols, arrays...) : 0;
}

/// Over how many parts of the rows the gradients of the parameters are summed: the blocks of norm_rows.cu.
template <class T>
int64_t norm_parts(int64_t rows, int64_t cols) {
  constexpr int64_t kRows = 64;  // of a part of a kernel of norm.cu
  const int64_t threads = threads_of_row<T>(rows, cols);
  return threads == 0 ? std::max<int64_t>(1, quotient_up(rows, kRows))
                      : std::min<int64_t>(over_lines(rows, threads).blocks.x, NormRows::kMostParts);
}

template <class T, class... A>
void launch_norm(const ValueKernels& kernel, int64_t rows, int64_t cols, A... arguments) {
  const Launch launch = over_lines(rows, threads_per_line(cols, 1));
  kernel.of<T>()(launch.blocks, launch.threads, rows, cols, arguments...);
}

template <class T>
void norm_totals(int64_t parts, int64_t cols, int64_t count, const NormTotals<Sum<T>>* of) {
  static_assert(NormTotalsBatch<Sum<T>>::kMost == kMostNormTotals);
  NormTotalsBatch<Sum<T>> batch = {};
  for (int64_t i = 0; i < count; ++i) {
    batch.sums[i] = of[i].sums;
    batch.dweight[i] = of[i].dweight;
    batch.dbias[i] = of[i].dbias;
  }
  kNormParameterTotals.of<Sum<T>>()({static_cast<uint32_t>(quotient_up(2 * cols, 32)), static_cast<uint32_t>(count)},
                                    {32, 8}, parts, cols, batch);
}

/// A backward pass by `in_rows` or `in_rows_dropped`, kernels of norm_rows.cu, or by `any`, one of norm.cu; mean is
/// null for RMS norm.
struct BackwardKernels {
  const ValueKernels &in_rows, &in_rows_dropped, &any;
};
template <class T, class... Statistics>
void norm_backward(const BackwardKernels& kernels, int64_t rows, int64_t cols, const T* x, const Sum<T>* weight,
                   const Sum<T>* mean, const Sum<T>* rstd, const T* dy, const T* added, T* dx,
                   const NormGradients<T>& more, const Statistics*... statistics) {
  if (cols == 0) return;
  const int64_t parts = norm_parts<T>(rows, cols);
  if (const int64_t threads =
          threads_of_drawn_row<T>(rows, cols, more.dropout, x, dy, added, dx, more.dropped, weight)) {
    Launch launch = over_lines(rows, threads);
    launch.blocks.x = static_cast<uint32_t>(parts);
    const int64_t shared = more.sums ? launch.threads.y * cols * static_cast<int64_t>(sizeof(Sum<T>)) : 0;
    const auto run = [&](const ValueKernels& kernel, auto... dropped) {
      kernel.of<T>().with_shared(launch.blocks, launch.threads, shared, rows, cols, x, weight, statistics..., dy, added,
                                 dx, more.sums, dropped...);
    };
    return more.dropped ? run(kernels.in_rows_dropped, dropped_by<T>(more.dropout), more.dropped)
                        : run(kernels.in_rows);
  }
  // The sums first, since dx may be dy.
  if (more.sums)
    launch_elements(kNormParameterSums.of<T>(), parts * cols, rows, cols, parts, quotient_up(rows, parts), x, mean,
                    rstd, dy, more.sums);
  if (dx) launch_norm<T>(kernels.any, rows, cols, x, weight, statistics..., dy, added, dx);
  if (more.dropped) drop<T>(rows * cols, more.dropout, dx, more.dropped);
}
constexpr BackwardKernels kLayer{kLayerNormRowsBackward, kLayerNormOfSumBackward, kLayerNormBackward};
constexpr BackwardKernels kRms{kRmsNormRowsBackward, kRmsNormOfSumBackward, kRmsNormBackward};

/// Calls backward(more) for a pass that writes sums, and adds them.
template <class T, class Backward>
void with_totals(int64_t rows, int64_t cols, Sum<T>* dweight, Sum<T>* dbias, const Backward& backward) {
  if (!dweight && !dbias) return backward(NormGradients<T>());
  const int64_t parts = norm_parts<T>(rows, cols);
  const DeviceScratch<Sum<T>> sums(2 * parts * cols);
  backward(NormGradients<T>{.sums = sums.get()});
  const NormTotals<Sum<T>> of{sums.get(), dweight, dbias};
  if (cols > 0) norm_totals<T>(parts, cols, 1, &of);
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
template <class T>
void norm_of_layer_backward_in_parts(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                                     const Sum<T>* rstd, const T* dy, const T* added, T* dx,
                                     const NormGradients<T>& more) {
  norm_backward(kLayer, rows, cols, x, weight, mean, rstd, dy, added, dx, more, mean, rstd);
}
template <class T>
void norm_of_layer_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                            const Sum<T>* rstd, const T* dy, const T* added, T* dx, Sum<T>* dweight, Sum<T>* dbias) {
  with_totals<T>(rows, cols, dweight, dbias, [&](const NormGradients<T>& more) {
    norm_of_layer_backward_in_parts(rows, cols, x, weight, mean, rstd, dy, added, dx, more);
  });
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
void norm_of_squares_backward_in_parts(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                                       const T* dy, const T* added, T* dx, const NormGradients<T>& more) {
  norm_backward(kRms, rows, cols, x, weight, static_cast<const Sum<T>*>(nullptr), rstd, dy, added, dx, more, rstd);
}
template <class T>
void norm_of_squares_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                              const T* dy, const T* added, T* dx, Sum<T>* dweight) {
  with_totals<T>(rows, cols, dweight, nullptr, [&](const NormGradients<T>& more) {
    norm_of_squares_backward_in_parts(rows, cols, x, weight, rstd, dy, added, dx, more);
  });
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
}  // namespace

TAPE_DEFINE_TABLES(NormKernels, norm, .layer_norm = norm_of_layer<T>, .layer_norm_backward = norm_of_layer_backward<T>,
                   .rms_norm = norm_of_squares<T>, .rms_norm_backward = norm_of_squares_backward<T>,
                   .layer_norm_of_sum = norm_of_layer_of_sum<T>, .rms_norm_of_sum = norm_of_squares_of_sum<T>,
                   .layer_norm_backward_in_parts = norm_of_layer_backward_in_parts<T>,
                   .rms_norm_backward_in_parts = norm_of_squares_backward_in_parts<T>, .parts = norm_parts<T>,
                   .totals = norm_totals<T>)
extern const NormKernels<BFloat16> norm_bf16 = norm_table<BFloat16>;

}  // namespace tape::kernels::cuda
