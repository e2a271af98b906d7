// y = gelu(x + bias) in one pass over x, and its gradients in one more; x is [rows, cols], bias [cols].
#include <tapeformer/autograd/cuda/kernels/device.h>

namespace {

// The distribution function Φ and the density φ of the normal distribution: gelu(z) = z Φ(z), gelu'(z) = Φ(z) + z φ(z).
template <class T>
__device__ T normal_cdf(T z) {
  return T(0.5) * (1 + erf(z * T(0.70710678118654752)));
}
template <class T>
__device__ T normal_pdf(T z) {
  return T(0.39894228040143268) * exp(T(-0.5) * z * z);
}

template <class T>
__device__ void bias_gelu(int64_t rows, int64_t cols, const T* x, const T* bias, T* y) {
  // Each thread takes every n-th element, so any number of threads computes any number of elements.
  for (int64_t i = thread_of_grid(); i < rows * cols; i += threads_of_grid()) {
    const T z = x[i] + bias[i % cols];
    y[i] = z * normal_cdf(z);
  }
}

constexpr int kColumns = 32, kRows = 8;  // threads of a block: those of a warp have consecutive columns

// dx = dy gelu'(x + bias), and dbias, the sum of dx over the rows. A block computes kColumns columns, thread (i, j)
// rows j, j + kRows, ... of column i. Partial sums meet in shared memory; they are added in the same order each time,
// so the bits are the same from run to run, which atomicAdd() would not give.
template <class T, bool with_barrier>
__device__ void gradients(int64_t rows, int64_t cols, const T* x, const T* bias, const T* dy, T* dx, T* dbias) {
  __shared__ T sums[kRows][kColumns];
  const int64_t column = static_cast<int64_t>(blockIdx.x) * kColumns + threadIdx.x;
  T sum = 0;
  // No `return` for threads past the last column: every thread of the block must reach the barrier.
  for (int64_t row = threadIdx.y; row < rows && column < cols; row += kRows) {
    const int64_t i = row * cols + column;
    const T z = x[i] + bias[column];
    dx[i] = dy[i] * (normal_cdf(z) + z * normal_pdf(z));
    sum += dx[i];
  }
  sums[threadIdx.y][threadIdx.x] = sum;
  if (with_barrier) __syncthreads();  // the other warps have written their sums
  if (threadIdx.y != 0 || column >= cols) return;
  sum = 0;
  for (int j = 0; j < kRows; ++j) sum += sums[j][threadIdx.x];
  dbias[column] = sum;
}

template <class T>
__device__ void bias_gelu_backward(int64_t rows, int64_t cols, const T* x, const T* bias, const T* dy, T* dx,
                                   T* dbias) {
  gradients<T, true>(rows, cols, x, bias, dy, dx, dbias);
}

// The same with a mistake, for the emulated device to find.
template <class T>
__device__ void bias_gelu_racing(int64_t rows, int64_t cols, const T* x, const T* bias, const T* dy, T* dx, T* dbias) {
  gradients<T, false>(rows, cols, x, bias, dy, dx, dbias);
}

}  // namespace

// Each defines two kernels, bias_gelu_f32 and bias_gelu_f64.
TAPE_EXPORT(bias_gelu, (int64_t rows, int64_t cols, const T* x, const T* bias, T* y), (rows, cols, x, bias, y))
TAPE_EXPORT(bias_gelu_backward, (int64_t rows, int64_t cols, const T* x, const T* bias, const T* dy, T* dx, T* dbias),
            (rows, cols, x, bias, dy, dx, dbias))
TAPE_EXPORT(bias_gelu_racing, (int64_t rows, int64_t cols, const T* x, const T* bias, const T* dy, T* dx, T* dbias),
            (rows, cols, x, bias, dy, dx, dbias))
