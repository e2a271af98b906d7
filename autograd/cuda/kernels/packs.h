#pragma once

// Arrays in packs of 16 bytes. A thread has about one read on the way at a time, and an SM at most 2,048 threads: with
// values of 2 bytes that is 4 KiB of the some 15 KiB that keep the memory of an H100 busy (Little's law: 3.3 TB/s at
// 600 ns for 132 SMs), with packs 32 KiB.

#include "bf16.h"

template <class T, int kSize>
struct Pack {
  T values[kSize];
};

/// Number of values that a thread takes at once: 16 bytes of the widest type.
template <class T, class U = T>
inline constexpr int kPackSize = 16 / static_cast<int>(sizeof(T) > sizeof(U) ? sizeof(T) : sizeof(U));

template <int kBytes>
struct BytesOf;
template <>
struct BytesOf<16> {
  using Type = uint4;
};
template <>
struct BytesOf<8> {
  using Type = uint2;
};
template <>
struct BytesOf<4> {
  using Type = uint32_t;
};
template <>
struct BytesOf<2> {
  using Type = uint16_t;
};

/// One access of 16 bytes, which nvcc would otherwise take apart where it can tell the values.
__device__ TAPE_INLINE void store_bytes(uint4* to, uint4 bytes) {
#ifdef __CUDACC__
  asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(__cvta_generic_to_global(to)), "r"(bytes.x), "r"(bytes.y), "r"(bytes.z), "r"(bytes.w)
               : "memory");
#else
  *to = bytes;
#endif
}
template <class Bytes>
__device__ TAPE_INLINE void store_bytes(Bytes* to, Bytes bytes) {
  *to = bytes;
}

/// Moves a pack of global memory in one access, to or from an address that is a multiple of its size.
template <int kSize, class T>
__device__ TAPE_INLINE Pack<T, kSize> load_pack(const T* from) {
  using Values = Pack<T, kSize>;
  return __builtin_bit_cast(Values, *reinterpret_cast<const typename BytesOf<kSize * sizeof(T)>::Type*>(from));
}
template <int kSize, class T>
__device__ TAPE_INLINE void store_pack(T* to, const Pack<T, kSize>& pack) {
  using Bytes = typename BytesOf<kSize * sizeof(T)>::Type;
  const Bytes bytes = __builtin_bit_cast(Bytes, pack);
  store_bytes(reinterpret_cast<Bytes*>(to), bytes);
}

/// Values of an array that begins at a multiple of 16 bytes and has whole packs.
template <int kCount, class T>
__device__ TAPE_INLINE Pack<T, kCount> load_values(const T* from) {
  constexpr int kWidth = kPackSize<T> < kCount ? kPackSize<T> : kCount;
  Pack<T, kCount> values;
  TAPE_UNROLL for (int at = 0; at < kCount; at += kWidth) {
    const Pack<T, kWidth> pack = load_pack<kWidth>(from + at);
    TAPE_UNROLL for (int j = 0; j < kWidth; ++j) values.values[at + j] = pack.values[j];
  }
  return values;
}

/// Whether packs of an array can be moved.
template <int kSize, class T>
__device__ inline bool has_packs(const T* array) {
  return reinterpret_cast<uintptr_t>(array) % (kSize * sizeof(T)) == 0;
}

/// Calls whole(i) for the packs [i, i + kSize) of n values, and single(i) for values that are in none: the last ones,
/// or all if arrays are not aligned.
template <int kSize, class Whole, class Single>
__device__ TAPE_INLINE void for_packs(int64_t n, bool aligned, const Whole& whole, const Single& single) {
  const int64_t packs = aligned ? n / kSize : 0;
  for (int64_t pack = thread_of_grid(); pack < packs; pack += threads_of_grid()) whole(pack * kSize);
  for (int64_t i = packs * kSize + thread_of_grid(); i < n; i += threads_of_grid()) single(i);
}

/// y[i] = f(x[i]). y may be x.
template <class In, class Out, class F>
__device__ TAPE_INLINE void map_values(int64_t n, const In* x, Out* y, const F& f) {
  constexpr int kSize = kPackSize<In, Out>;
  for_packs<kSize>(
      n, has_packs<kSize>(x) && has_packs<kSize>(y),
      [&](int64_t i) {
        const Pack<In, kSize> in = load_pack<kSize>(x + i);
        Pack<Out, kSize> out;
        TAPE_UNROLL for (int j = 0; j < kSize; ++j) out.values[j] = f(in.values[j]);
        store_pack(y + i, out);
      },
      [&](int64_t i) { y[i] = f(x[i]); });
}

/// out[i] = f(a[i], b[i]). out may be a or b.
template <class In, class Out, class F>
__device__ TAPE_INLINE void map_pairs(int64_t n, const In* a, const In* b, Out* out, const F& f) {
  constexpr int kSize = kPackSize<In, Out>;
  for_packs<kSize>(
      n, has_packs<kSize>(a) && has_packs<kSize>(b) && has_packs<kSize>(out),
      [&](int64_t i) {
        const Pack<In, kSize> left = load_pack<kSize>(a + i), right = load_pack<kSize>(b + i);
        Pack<Out, kSize> results;
        TAPE_UNROLL for (int j = 0; j < kSize; ++j) results.values[j] = f(left.values[j], right.values[j]);
        store_pack(out + i, results);
      },
      [&](int64_t i) { out[i] = f(a[i], b[i]); });
}
