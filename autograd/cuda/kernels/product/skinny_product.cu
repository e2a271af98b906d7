// y [m, n] = x weight^T + bias for few rows of x, as in decoding: reading the weight takes the time, so each of its
// values is read once, 16 bytes at a time with several reads under way, and meets all rows of x, which stay in the
// caches.
//
// A token of GPT-2 124M multiplies 12 (4 768^2 + 2 768 3072) + 50257 768 = 123.5 million weights: 494 MB in f32, 247 MB
// in bf16. Its rows of x and y are 0.6 MB.
#include "product_elements.h"
#include "skinny_shape.h"
#ifdef __CUDACC__
#include <cuda_fp16.h>
#endif

namespace {

/// Values in 16 bytes.
template <class T>
constexpr int kValues = static_cast<int>(16 / sizeof(T));

template <class T>
__device__ TAPE_INLINE Sum<T> widened(T value) {
#ifdef __CUDACC__
  if constexpr (std::is_same_v<T, tape::Half>) return __half2float(__ushort_as_half(value.bits));
#endif
  return static_cast<Sum<T>>(value);
}

/// 16 bytes of a row, of which `count` values are in it; the rest is 0.
template <class T>
__device__ TAPE_INLINE uint4 load(const T* from, int64_t count, bool aligned) {
  if (aligned && count >= kValues<T>) return *reinterpret_cast<const uint4*>(from);
  T values[kValues<T>];
  TAPE_UNROLL for (int i = 0; i < kValues<T>; ++i) values[i] = i < count ? from[i] : T();
  uint4 packed;
  memcpy(&packed, values, sizeof packed);
  return packed;
}
template <class T>
__device__ TAPE_INLINE void unpack(const uint4& packed, Sum<T> (&values)[kValues<T>]) {
  T narrow[kValues<T>];
  memcpy(static_cast<void*>(narrow), &packed, sizeof packed);
  TAPE_UNROLL for (int i = 0; i < kValues<T>; ++i) values[i] = widened(narrow[i]);
}

/// A warp computes kColumns columns of up to kRows rows; each lane adds every 32nd 16 bytes, and lanes are added in a
/// fixed order. kSteps: how many times 16 bytes of each column are under way at once.
template <class T, int kRows, int kColumns, int kSteps>
__device__ void skinny_product(const SkinnyShape& s, const T* x, const T* addend, const SkinnyOperands<T>& of) {
  // Not an array, which would be copied to local memory to be indexed.
  const auto mine = [](auto* first, auto* second, auto* third) {
    return blockIdx.y == 0 ? first : blockIdx.y == 1 ? second : third;
  };
  const T *const weight = mine(of.weight, of.weight1, of.weight2), *const bias = mine(of.bias, of.bias1, of.bias2);
  T* const y = mine(of.y, of.y1, of.y2);
  constexpr int kStride = 32 * kValues<T>;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t warp = thread_of_grid() / 32, first = warp * kColumns;
  if (first >= s.n) return;
  // Rows and columns beyond the last are computed as the last and not written.
  const T *row[kRows], *column[kColumns];
  TAPE_UNROLL for (int r = 0; r < kRows; ++r) row[r] = x + (r < s.m ? r : s.m - 1) * s.ldx;
  TAPE_UNROLL for (int c = 0; c < kColumns; ++c) column[c] =
      weight + (first + c < s.n ? first + c : s.n - 1) * s.ldweight;
  Sum<T> sums[kRows][kColumns] = {};
  for (int64_t begin = lane * kValues<T>; begin < s.k; begin += kSteps * kStride) {
    uint4 packed[kSteps][kColumns];
    TAPE_UNROLL for (int step = 0; step < kSteps; ++step) TAPE_UNROLL for (int c = 0; c < kColumns; ++c) {
      const int64_t k = begin + step * kStride;
      packed[step][c] = load(column[c] + k, s.k - k, s.aligned);
    }
    TAPE_UNROLL for (int step = 0; step < kSteps; ++step) {
      const int64_t k = begin + step * kStride;
      Sum<T> weights[kColumns][kValues<T>];
      TAPE_UNROLL for (int c = 0; c < kColumns; ++c) unpack<T>(packed[step][c], weights[c]);
      TAPE_UNROLL for (int r = 0; r < kRows; ++r) {
        Sum<T> values[kValues<T>];
        unpack<T>(load(row[r] + k, s.k - k, s.aligned), values);
        TAPE_UNROLL for (int c = 0; c < kColumns; ++c) TAPE_UNROLL for (int i = 0; i < kValues<T>; ++i) sums[r][c] +=
            values[i] * weights[c][i];
      }
    }
  }
  TAPE_UNROLL for (int r = 0; r < kRows; ++r) TAPE_UNROLL for (int c = 0; c < kColumns; ++c) {
    Sum<T> sum = sums[r][c];
    for (int bits = 16; bits > 0; bits /= 2) sum += __shfl_xor_sync(~0U, sum, bits);
    if (lane != r * kColumns + c || r >= s.m || first + c >= s.n) continue;
    if (bias) sum += static_cast<Sum<T>>(bias[first + c]);
    const int64_t place = r * s.ldy + first + c;
    y[place] = static_cast<T>(addend ? static_cast<Sum<T>>(addend[place]) + sum : sum);
  }
}

// More rows need more columns per warp, or the caches would be read too often.
template <class T>
__device__ void skinny_product_1(const SkinnyShape& s, const T* x, const T* addend, const SkinnyOperands<T>& of) {
  skinny_product<T, 1, 1, 4>(s, x, addend, of);
}
template <class T>
__device__ void skinny_product_2(const SkinnyShape& s, const T* x, const T* addend, const SkinnyOperands<T>& of) {
  skinny_product<T, 2, 1, 4>(s, x, addend, of);
}
template <class T>
__device__ void skinny_product_4(const SkinnyShape& s, const T* x, const T* addend, const SkinnyOperands<T>& of) {
  skinny_product<T, 4, 2, 2>(s, x, addend, of);
}
template <class T>
__device__ void skinny_product_8(const SkinnyShape& s, const T* x, const T* addend, const SkinnyOperands<T>& of) {
  skinny_product<T, 8, 4, 1>(s, x, addend, of);
}

}  // namespace

#define TAPE_SKINNY_PARAMETERS (SkinnyShape s, const T* x, const T* addend, SkinnyOperands<T> of)
#define TAPE_EXPORT_SKINNY(rows)                                                                                \
  TAPE_EXPORT(skinny_product_##rows, TAPE_SKINNY_PARAMETERS, (s, x, addend, of))                                \
  TAPE_EXPORT_TYPE(skinny_product_##rows##_f16, skinny_product_##rows, tape::Half, TAPE_SKINNY_PARAMETERS,      \
                   (s, x, addend, of))                                                                          \
  TAPE_EXPORT_TYPE(skinny_product_##rows##_bf16, skinny_product_##rows, tape::BFloat16, TAPE_SKINNY_PARAMETERS, \
                   (s, x, addend, of))
TAPE_EXPORT_SKINNY(1)
TAPE_EXPORT_SKINNY(2)
TAPE_EXPORT_SKINNY(4)
TAPE_EXPORT_SKINNY(8)
