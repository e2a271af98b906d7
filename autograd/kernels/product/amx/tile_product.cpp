#include "autograd/kernels/product/amx/tile_product.h"

#include "autograd/kernels/product/amx/amx_tiles.h"

namespace tape::kernels::TAPE_LEVEL {

void product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c) {
  if (parts == 1) return multiply_tiles<Amx, 1>(shape, a, b, bias, c);
  multiply_tiles<Amx, 2>(shape, a, b, bias, c);
}

int64_t packed_bytes(const Gemm& shape, int parts) { return packed_tiles_bytes(shape, parts); }

void pack(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to) {
  if (parts == 1) return pack_right_tiles<Amx, 1>(shape, b, begin, end, to);
  pack_right_tiles<Amx, 2>(shape, b, begin, end, to);
}

}  // namespace tape::kernels::TAPE_LEVEL
