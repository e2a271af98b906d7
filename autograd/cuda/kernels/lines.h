#pragma once

// Kernels over lines: x [outer, size, inner] has outer * inner lines of `size` values along its middle axis.
//
// blockDim.x threads share a line: 1 (adjacent threads then read adjacent lines), a warp, or a block; blockDim.y lines
// are in a block.

#include "device.h"

/// Where the values of a line are: value s at x[at + s * step].
struct Line {
  int64_t at, step;
};
__device__ inline Line line_of(int64_t line, int64_t size, int64_t inner) {
  return {line / inner * size * inner + line % inner, inner};
}

/// Calls body(line) for each line of the threads that share it.
template <class Body>
__device__ void for_lines(int64_t lines, const Body& body) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * static_cast<int64_t>(blockDim.y);
  for (int64_t line = static_cast<int64_t>(blockIdx.x) * static_cast<int64_t>(blockDim.y) + threadIdx.y; line < lines;
       line += step)
    body(line);
}
/// Calls body(s) for this thread's part of the positions [begin, end) of a line.
template <class Body>
__device__ void for_positions(int64_t begin, int64_t end, const Body& body) {
  for (int64_t s = begin + static_cast<int64_t>(threadIdx.x); s < end; s += static_cast<int64_t>(blockDim.x)) body(s);
}

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};
/// Ignores NaN.
struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return max(a, b);
  }
};

template <class T>
__device__ T value_of_lane(T value, int bits) {
  return __shfl_xor_sync(~0U, value, bits);
}

/// Combines the values of all threads that share a line, in a fixed order; each of them gets the result.
template <class T, class Combine>
__device__ T over_line(T value, const Combine& combine) {
  if (blockDim.x == 1) return value;
  for (int bits = 16; bits > 0; bits /= 2) value = combine(value, value_of_lane(value, bits));
  if (blockDim.x == 32) return value;
  __shared__ T of_warps[32];
  __syncthreads();  // another line's values may still be read
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  value = of_warps[0];
  for (unsigned warp = 1; warp < blockDim.x / 32; ++warp) value = combine(value, of_warps[warp]);
  return value;
}

/// A thread's sum: partial sums of 64 terms in T, added in double.
template <class T>
class LongSum {
 public:
  __device__ void add(T term) {
    part_ += term;
    if (++terms_ == 64) {
      total_ += static_cast<double>(part_);
      part_ = 0;
      terms_ = 0;
    }
  }
  __device__ double value() const { return total_ + static_cast<double>(part_); }
  /// The sum of all threads that share the line.
  __device__ double of_line() const { return over_line(value(), Add()); }

 private:
  double total_ = 0;
  T part_ = 0;
  int terms_ = 0;
};
