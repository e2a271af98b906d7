#include "autograd/kernels/norm/norm.h"

#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const ValueKernels kLayerNorm = TAPE_VALUE_KERNELS(layer_norm), kRmsNorm = TAPE_VALUE_KERNELS(rms_norm);
constinit const ValueKernels kLayerNormBackward = TAPE_VALUE_KERNELS(layer_norm_backward);
constinit const ValueKernels kRmsNormBackward = TAPE_VALUE_KERNELS(rms_norm_backward);
constinit const ValueKernels kNormParameterSums = TAPE_VALUE_KERNELS(norm_parameter_sums);

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
  launch_norm<T>(kLayerNorm, rows, cols, x, weight, bias, eps, y, mean, rstd);
}
// dx may be dy: the sums come first.
template <class T>
void norm_of_layer_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* mean,
                            const Sum<T>* rstd, const T* dy, T* dx, Sum<T>* dweight, Sum<T>* dbias) {
  if (cols == 0) return;
  norm_parameter_gradients(rows, cols, x, mean, rstd, dy, dweight, dbias);
  if (dx) launch_norm<T>(kLayerNormBackward, rows, cols, x, weight, mean, rstd, dy, dx);
}
template <class T>
void norm_of_squares(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, double eps, T* y, Sum<T>* rstd) {
  launch_norm<T>(kRmsNorm, rows, cols, x, weight, eps, y, rstd);
}
template <class T>
void norm_of_squares_backward(int64_t rows, int64_t cols, const T* x, const Sum<T>* weight, const Sum<T>* rstd,
                              const T* dy, T* dx, Sum<T>* dweight) {
  if (cols == 0) return;
  norm_parameter_gradients(rows, cols, x, static_cast<const Sum<T>*>(nullptr), rstd, dy, dweight,
                           static_cast<Sum<T>*>(nullptr));
  if (dx) launch_norm<T>(kRmsNormBackward, rows, cols, x, weight, rstd, dy, dx);
}
}  // namespace

TAPE_DEFINE_TABLES(NormKernels, norm, .layer_norm = norm_of_layer<T>, .layer_norm_backward = norm_of_layer_backward<T>,
                   .rms_norm = norm_of_squares<T>, .rms_norm_backward = norm_of_squares_backward<T>)
extern const NormKernels<BFloat16> norm_bf16 = norm_table<BFloat16>;

}  // namespace tape::kernels::cuda
