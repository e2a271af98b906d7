#include "autograd/kernels/attention/common/attention_dispatch.h"

#include <algorithm>

#include "autograd/kernels/attention/amx/tile_attention.h"
#include "autograd/kernels/product/common/bf16_backend.h"

namespace tape::kernels {

const AttentionKernels<float>& attention_by_precision(const AttentionShape& shape) {
  if (bf16_backend() != Bf16Backend::tiles || shape.precision == MatmulPrecision::highest) return attention<float>();
  // With few scores, packing costs more than tile products save (Sapphire Rapids, forward and backward in ms, heads of
  // 64: 128 x 128 scores take 10.1 exact, 8.9 in medium and 12.1 in high precision, 512 x 512 take 12.9, 7.1 and 11.6).
  const int parts = parts_of(shape.precision);
  const int64_t least = parts == 2 ? 1 << 16 : 1 << 14;
  constexpr int64_t kTile = 16;
  if (shape.Tq * shape.Tk < least || std::min(shape.Tq, shape.Tk) < kTile || std::min(shape.D, shape.Dv) < kTile)
    return attention<float>();
#if defined(__x86_64__)
  if (!tile_kernels()) return amx::attention(parts);
#endif
  return tile_kernels()->attention(parts);
}

}  // namespace tape::kernels
