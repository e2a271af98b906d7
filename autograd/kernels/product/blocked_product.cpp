#include "autograd/kernels/product/blocked_product.h"

#include "autograd/kernels/product/blocked_tiles.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <int64_t width, class T>
TAPE_INLINE void pack_across(int64_t count, int64_t k, const T* x, int64_t stride, int64_t last, T* to) {
  for (int64_t begin = 0; begin < count; begin += width)
    pack_panel(smaller(width, count - begin), begin + width <= count ? width : last, k, x + begin * stride, stride,
               to + begin * k);
}

/// Transposes a few rows at a time, reading each from end to end.
template <int64_t width, class T>
TAPE_INLINE void pack_along(int64_t count, int64_t k, const T* x, int64_t stride, int64_t last, T* to) {
  constexpr int64_t kTogether = 8;
  for (int64_t first = 0; first < k; first += kTogether) {
    const int64_t end = smaller(first + kTogether, k);
    int64_t begin = 0;
    for (; begin + width <= count; begin += width)
      for (int64_t i = first; i < end; ++i)
        __builtin_memcpy(to + begin * k + i * width, x + i * stride + begin, width * sizeof(T));
    if (begin == count) continue;
    for (int64_t i = first; i < end; ++i)
      for (int64_t j = 0; j < last; ++j)
        to[begin * k + i * last + j] = begin + j < count ? x[i * stride + begin + j] : T(0);
  }
}

/// Values packed without conversion.
template <class T>
struct Plain {
  using Value = T;
  static constexpr int kDepth = 1;
  static constexpr bool kReadsRows = true;
  TAPE_INLINE Vec<T> multiply_add(Vec<T> sum, Vec<T> b, T a) { return sum + b * a; }
  template <int64_t width>
  TAPE_INLINE void pack(bool across, int64_t count, int64_t k, const T* x, int64_t stride, int64_t last, T* to) {
    if (across)
      pack_across<width>(count, k, x, stride, last, to);
    else
      pack_along<width>(count, k, x, stride, last, to);
  }
};
}  // namespace

TAPE_DEFINE_TABLES(BlockedProductKernels, blocked_product, multiply_all<Plain<T>>, packed_right_bytes<Plain<T>>,
                   kPanelOf<T>, pack_right_columns<Plain<T>>)

}  // namespace tape::kernels::TAPE_LEVEL
