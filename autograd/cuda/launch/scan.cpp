#include "autograd/kernels/reduce/scan.h"

#include "autograd/cuda/launch/lines.h"

namespace tape::kernels::cuda {
namespace {

constinit const FloatKernels kCumsum = TAPE_FLOAT_KERNELS(cumsum), kCumprod = TAPE_FLOAT_KERNELS(cumprod);
constinit const FloatKernels kCumprodBackward = TAPE_FLOAT_KERNELS(cumprod_backward);
constinit const FloatKernels kLinearScan = TAPE_FLOAT_KERNELS(linear_scan);
constinit const FloatKernels kLogcumsumexp = TAPE_FLOAT_KERNELS(logcumsumexp);
constinit const FloatKernels kLogcumsumexpBackward = TAPE_FLOAT_KERNELS(logcumsumexp_backward);
constinit const FloatKernels kCumulativeExtremum = TAPE_FLOAT_KERNELS(cumulative_extremum);

/// With a warp or a thread per line.
template <class T, class... A>
void launch_scan(const FloatKernels& kernel, int64_t outer, int64_t size, int64_t inner, A... arguments) {
  constexpr int64_t kWarp = 32;
  const Launch launch = over_lines(outer * inner, std::min(kWarp, threads_per_line(size, inner)));
  kernel.of<T>()(launch.blocks, launch.threads, outer, size, inner, arguments...);
}
/// With a thread per line.
template <class T, class... A>
void launch_walk(const FloatKernels& kernel, int64_t outer, int64_t size, int64_t inner, A... arguments) {
  launch_elements(kernel.of<T>(), outer * inner, outer, size, inner, arguments...);
}

template <class T>
void scan_sum(int64_t outer, int64_t size, int64_t inner, const T* x, T* y, bool reverse) {
  launch_scan<T>(kCumsum, outer, size, inner, x, y, reverse);
}
template <class T>
void scan_product(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  launch_walk<T>(kCumprod, outer, size, inner, x, y);
}
template <class T>
void scan_product_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx) {
  launch_walk<T>(kCumprodBackward, outer, size, inner, x, y, dy, dx);
}
template <class T>
void scan_linear(int64_t outer, int64_t size, int64_t inner, const T* a, const T* b, T* y, bool reverse) {
  launch_walk<T>(kLinearScan, outer, size, inner, a, b, y, reverse);
}
template <class T>
void scan_log_sum(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  launch_scan<T>(kLogcumsumexp, outer, size, inner, x, y);
}
template <class T>
void scan_log_sum_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* y, const T* dy, T* dx) {
  launch_walk<T>(kLogcumsumexpBackward, outer, size, inner, x, y, dy, dx);
}
template <class T>
void scan_extremum(int64_t outer, int64_t size, int64_t inner, const T* x, bool largest, T* values, int64_t* index) {
  launch_scan<T>(kCumulativeExtremum, outer, size, inner, x, largest, values, index);
}
}  // namespace

TAPE_DEFINE_TABLES(ScanKernels, scan, .cumsum = scan_sum<T>, .cumprod = scan_product<T>,
                   .cumprod_backward = scan_product_backward<T>, .linear = scan_linear<T>,
                   .logcumsumexp = scan_log_sum<T>, .logcumsumexp_backward = scan_log_sum_backward<T>,
                   .cumulative_extremum = scan_extremum<T>)

}  // namespace tape::kernels::cuda
