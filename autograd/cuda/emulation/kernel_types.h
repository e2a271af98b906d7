#pragma once

// CUDA's vector types.

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

#define TAPE_VECTOR_TYPES(name, type, bytes)                                                     \
  struct __attribute__((aligned(2 * bytes))) name##2 { type x, y; };                             \
  struct name##3 { type x, y, z; };                                                              \
  struct __attribute__((aligned(4 * bytes > 16 ? 16 : 4 * bytes))) name##4 { type x, y, z, w; }; \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }                               \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }                    \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

TAPE_VECTOR_TYPES(float, float, 4)
TAPE_VECTOR_TYPES(double, double, 8)
TAPE_VECTOR_TYPES(int, int, 4)
TAPE_VECTOR_TYPES(char, signed char, 1)
TAPE_VECTOR_TYPES(uchar, unsigned char, 1)
TAPE_VECTOR_TYPES(short, short, 2)
TAPE_VECTOR_TYPES(ushort, unsigned short, 2)
TAPE_VECTOR_TYPES(longlong, long long, 8)
TAPE_VECTOR_TYPES(ulonglong, unsigned long long, 8)
#undef TAPE_VECTOR_TYPES

struct __attribute__((aligned(8))) uint2 {
  unsigned x, y;
};
struct __attribute__((aligned(16))) uint4 {
  unsigned x, y, z, w;
};
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
