#include "autograd/kernels/tile_product.h"

#include "autograd/kernels/amx_tiles.h"

namespace tape::kernels::TAPE_LEVEL {

void product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c) {
  if (parts == 1) return multiply_tiles<Amx, 1>(shape, a, b, bias, c);
  multiply_tiles<Amx, 2>(shape, a, b, bias, c);
}

}  // namespace tape::kernels::TAPE_LEVEL
