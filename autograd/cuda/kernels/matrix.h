#pragma once

// Products of small matrices by a warp (mma), and loads of their operands from shared memory (ldmatrix). All 32 lanes
// of a warp must call them together. With g = lane / 4 and t = lane % 4, a lane holds these elements:
//
//   C [16, 8]: rows g, g, g + 8, g + 8 and columns 2 t, 2 t + 1, 2 t, 2 t + 1
//   bf16 A [16, 16]: pairs of columns 2 t, 2 t + 1 of rows g, g + 8, then of columns 2 t + 8, 2 t + 9 of the same rows
//   bf16 B [16, 8]: pairs of rows 2 t, 2 t + 1, then 2 t + 8, 2 t + 9, of column g
//   tf32 A [16, 8]: column t of rows g, g + 8, then column t + 4 of the same rows; B [8, 8]: rows t, t + 4 of column g
//   f64 A [8, 4]: row g, column t; B [4, 8]: row t, column g; C [8, 8]: row g, columns 2 t, 2 t + 1

#include "device.h"

#ifndef __CUDACC__
#include "../emulation/kernel_matrix.h"
#endif

/// C += A B with bf16 operands and f32 sums.
__device__ TAPE_INLINE void multiply_bf16(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  ::tape::cuda_device::emulation::multiply_bf16(c, a, b);
#endif
}

/// The operand of multiply_tf32() for a value: f32 with 10 bits of mantissa, rounded to nearest.
__device__ TAPE_INLINE uint32_t to_tf32(float x) {
#ifdef __CUDACC__
  uint32_t rounded;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(rounded) : "f"(x));
  return rounded;
#else
  const uint32_t bits = __float_as_uint(x);
  return isfinite(x) ? (bits + 0x1000) & ~0x1FFFU : bits;
#endif
}

/// C += A B with tf32 operands and f32 sums.
__device__ TAPE_INLINE void multiply_tf32(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  ::tape::cuda_device::emulation::multiply_tf32(c, a, b);
#endif
}

/// C += A B in f64.
__device__ TAPE_INLINE void multiply_f64(double (&c)[2], double a, double b) {
#ifdef __CUDACC__
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(c[0]), "+d"(c[1])
               : "d"(a), "d"(b));
#else
  ::tape::cuda_device::emulation::multiply_f64(c, a, b);
#endif
}

/// Loads four matrices [8, 8] of 16-bit values from shared memory: lane 8 i + r passes the address of row r of matrix
/// i, aligned to 16 bytes, and gets columns 2 t, 2 t + 1 of row g of each matrix.
__device__ TAPE_INLINE void load_matrices(uint32_t (&matrices)[4], const void* row) {
#ifdef __CUDACC__
  const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(from)
               : "memory");
#else
  ::tape::cuda_device::emulation::load_matrices(matrices, row, false);
#endif
}

/// The same with each matrix transposed: rows 2 t, 2 t + 1 of column g.
__device__ TAPE_INLINE void load_transposed_matrices(uint32_t (&matrices)[4], const void* row) {
#ifdef __CUDACC__
  const auto from = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
               : "r"(from)
               : "memory");
#else
  ::tape::cuda_device::emulation::load_matrices(matrices, row, true);
#endif
}
