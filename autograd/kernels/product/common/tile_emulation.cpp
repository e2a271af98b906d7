#include "autograd/kernels/product/common/tile_emulation.h"

#include "autograd/kernels/product/common/emulated_tiles.h"

namespace tape::kernels {

void emulated_tile_product(const Gemm& shape, int parts, const float* a, const float* b, const float* bias, float* c) {
  using TAPE_LEVEL::Emulated, TAPE_LEVEL::multiply_tiles;
  if (parts == 1) return multiply_tiles<Emulated, 1>(shape, a, b, bias, c);
  multiply_tiles<Emulated, 2>(shape, a, b, bias, c);
}

int64_t emulated_packed_bytes(const Gemm& shape, int parts) { return TAPE_LEVEL::packed_tiles_bytes(shape, parts); }

void emulated_pack(const Gemm& shape, int parts, const float* b, int64_t begin, int64_t end, void* to) {
  using TAPE_LEVEL::Emulated, TAPE_LEVEL::pack_right_tiles;
  if (parts == 1) return pack_right_tiles<Emulated, 1>(shape, b, begin, end, to);
  pack_right_tiles<Emulated, 2>(shape, b, begin, end, to);
}

}  // namespace tape::kernels
