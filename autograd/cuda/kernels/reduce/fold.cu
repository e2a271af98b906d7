#include "fold_lines.h"

namespace {

struct Size {
  template <class T>
  __device__ T operator()(T v, int64_t) const {
    return v < 0 ? -v : v;
  }
};
struct Square {
  template <class T>
  __device__ T operator()(T v, int64_t) const {
    return v * v;
  }
};
template <class T>
struct SquaredDeviation {
  const T* centre;
  __device__ T operator()(T v, int64_t output) const {
    const T d = v - centre[output];
    return d * d;
  }
};
template <class T>
struct PowerOfSize {
  T p;
  __device__ T operator()(T v, int64_t) const { return pow(v < 0 ? -v : v, p); }
};
struct Number {
  template <class T>
  __device__ T operator()(T v, int64_t) const {
    return v == v ? v : T(0);
  }
};
struct Times {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a * b;
  }
};

template <class T>
__device__ void fold_abs(FoldShape shape, const T* x, T* y) {
  fold_lines(shape, x, y, T(0), Size(), Add());
}
template <class T>
__device__ void fold_squares(FoldShape shape, const T* x, T* y) {
  fold_lines(shape, x, y, T(0), Square(), Add());
}
template <class T>
__device__ void fold_deviations(FoldShape shape, const T* x, T* y, const T* centre) {
  fold_lines(shape, x, y, T(0), SquaredDeviation<T>{centre}, Add());
}
template <class T>
__device__ void fold_powers(FoldShape shape, const T* x, T* y, T p) {
  fold_lines(shape, x, y, T(0), PowerOfSize<T>{p}, Add());
}
template <class T>
__device__ void fold_numbers(FoldShape shape, const T* x, T* y) {
  fold_lines(shape, x, y, T(0), Number(), Add());
}
template <class T>
__device__ void fold_product(FoldShape shape, const T* x, T* y) {
  fold_lines(shape, x, y, T(1), Unchanged(), Times());
}

/// dx[s] = dy times the product of the others, without a division, by one thread.
template <class T>
__device__ void product_of_others(int64_t size, int64_t step, const T* x, T dy, T* dx) {
  T before = 1, behind = 1;
  for (int64_t s = 0; s < size; ++s) {
    dx[s * step] = before;
    before *= x[s * step];
  }
  for (int64_t s = size - 1; s >= 0; --s) {
    dx[s * step] = dy * (dx[s * step] * behind);
    behind *= x[s * step];
  }
}

/// dx [outer, size, inner] = dy [outer, inner] times the product of the other values of the line.
template <class T>
__device__ void fold_product_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* dy, T* dx) {
  for_lines(outer * inner, [&](int64_t line) {
    const auto [at, step] = line_of(line, size, inner);
    T zeros = 0, others = 1;
    for_positions(0, size, [&](int64_t s) {
      const T v = x[at + s * step];
      if (v == 0)
        zeros += 1;
      else
        others *= v;
    });
    zeros = over_line(zeros, Add());
    others = over_line(others, Times());
    // The product can be divided by its factors if it is finite and did not underflow to 0.
    if (others == 0 || others - others != 0) {
      if (threadIdx.x == 0) product_of_others(size, step, x + at, dy[line], dx + at);
      return;
    }
    for_positions(0, size, [&](int64_t s) {
      const T v = x[at + s * step];
      const T without = zeros == 0 ? others / v : zeros == 1 && v == 0 ? others : T(0);
      dx[at + s * step] = dy[line] * without;
    });
  });
}

}  // namespace

TAPE_EXPORT(fold_abs, (FoldShape shape, const T* x, T* y), (shape, x, y))
TAPE_EXPORT(fold_squares, (FoldShape shape, const T* x, T* y), (shape, x, y))
TAPE_EXPORT(fold_deviations, (FoldShape shape, const T* x, T* y, const T* centre), (shape, x, y, centre))
TAPE_EXPORT(fold_powers, (FoldShape shape, const T* x, T* y, T p), (shape, x, y, p))
TAPE_EXPORT(fold_numbers, (FoldShape shape, const T* x, T* y), (shape, x, y))
TAPE_EXPORT(fold_product, (FoldShape shape, const T* x, T* y), (shape, x, y))
TAPE_EXPORT(fold_product_backward, (int64_t outer, int64_t size, int64_t inner, const T* x, const T* dy, T* dx),
            (outer, size, inner, x, dy, dx))
