#include "autograd/kernels/reduce/fold.h"

#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kFoldSum = TAPE_FLOAT_KERNELS(reduce_sum), kFoldAbs = TAPE_FLOAT_KERNELS(fold_abs);
constinit const FloatKernels kFoldSquares = TAPE_FLOAT_KERNELS(fold_squares);
constinit const FloatKernels kFoldDeviations = TAPE_FLOAT_KERNELS(fold_deviations);
constinit const FloatKernels kFoldPowers = TAPE_FLOAT_KERNELS(fold_powers);
constinit const FloatKernels kFoldNumbers = TAPE_FLOAT_KERNELS(fold_numbers);
constinit const FloatKernels kFoldProduct = TAPE_FLOAT_KERNELS(fold_product);
constinit const FloatKernels kFoldProductBackward = TAPE_FLOAT_KERNELS(fold_product_backward);

template <const FloatKernels& kernel, class T>
void fold_sum(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  fold_in_parts(kernel, kFoldSum, fold_shape(outer, size, inner), x, y);
}
template <class T>
void fold_deviations(int64_t outer, int64_t size, int64_t inner, const T* x, const T* centre, T* y) {
  fold_in_parts(kFoldDeviations, kFoldSum, fold_shape(outer, size, inner), x, y, centre);
}
template <class T>
void fold_powers(int64_t outer, int64_t size, int64_t inner, const T* x, double p, T* y) {
  fold_in_parts(kFoldPowers, kFoldSum, fold_shape(outer, size, inner), x, y, static_cast<T>(p));
}
template <class T>
void fold_product(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  fold_in_parts(kFoldProduct, kFoldProduct, fold_shape(outer, size, inner), x, y);
}
template <class T>
void fold_product_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* dy, T* dx) {
  const Launch launch = over_lines(outer * inner, threads_per_line(size, inner));
  kFoldProductBackward.of<T>()(launch.blocks, launch.threads, outer, size, inner, x, dy, dx);
}
}  // namespace

TAPE_DEFINE_TABLES(FoldKernels, fold_axis, .sum_of_abs = fold_sum<kFoldAbs, T>,
                   .sum_of_squares = fold_sum<kFoldSquares, T>, .sum_of_squared_deviations = fold_deviations<T>,
                   .sum_of_abs_powers = fold_powers<T>, .nansum = fold_sum<kFoldNumbers, T>, .product = fold_product<T>,
                   .product_backward = fold_product_backward<T>)

}  // namespace tape::kernels::cuda
