#include "autograd/kernels/attention/amx/tile_attention.h"

#include "autograd/kernels/attention/amx/tile_attention_products.h"
#include "autograd/kernels/attention/attention_blocks.h"
#include "autograd/kernels/product/amx/amx_tiles.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <int parts>
constexpr AttentionKernels<float> kKernels = {.forward = forward<TileProducts<Amx, parts>, float>,
                                              .backward = backward<TileProducts<Amx, parts>, float>};
}  // namespace

const AttentionKernels<float>& attention(int parts) { return parts == 1 ? kKernels<1> : kKernels<2>; }

}  // namespace tape::kernels::TAPE_LEVEL
