#pragma once

#include <cstdint>

// The matrix functions of ../kernels/matrix.h on the emulated device. Sums are made in the order of the inner index.

namespace tape::cuda_device::emulation {

void multiply_bf16(float* c, const uint32_t* a, const uint32_t* b);
void multiply_tf32(float* c, const uint32_t* a, const uint32_t* b);
void multiply_f64(double* c, double a, double b);
void load_matrices(uint32_t* matrices, const void* row, bool transposed);

}  // namespace tape::cuda_device::emulation
