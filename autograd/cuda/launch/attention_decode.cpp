#include "autograd/cuda/launch/attention_decode.h"

namespace tape::kernels::cuda {
namespace {

constinit const ValueKernels kAttentionPartOne = TAPE_VALUE_KERNELS(attention_part_one);
constinit const ValueKernels kAttentionPartFew = TAPE_VALUE_KERNELS(attention_part_few);
constinit const ValueKernels kAttentionJoin = TAPE_VALUE_KERNELS(attention_join);

/// Number of parts of the keys: a few hundred blocks in all, none with too few keys. It depends only on the sizes, and
/// so do all bits.
int64_t key_parts(const AttentionShape& s) {
  constexpr int64_t kBlocks = 512, kFewKeys = 128;
  return std::clamp<int64_t>(std::min(kBlocks / (s.B * s.H), s.Tk / kFewKeys), 1, kBlocks);
}

}  // namespace

template <class T>
void attend_in_parts(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionResults<T>& to) {
  const int64_t rows = s.B * s.H * s.Tq;
  if (rows == 0) return;
  const int64_t parts = key_parts(s);
  const DeviceScratch<Sum<T>> partial(rows * parts * (s.Dv + 2));
  (s.Tq == 1 ? kAttentionPartOne : kAttentionPartFew)
      .of<T>()({static_cast<uint32_t>(s.B * s.H * parts)}, {AttentionParts::kThreads}, s, in, parts, partial.get());
  kAttentionJoin.of<T>()({static_cast<uint32_t>(rows)}, {AttentionParts::kThreads}, s, parts, partial.constant(), to);
}

template void attend_in_parts(const AttentionShape&, const AttentionOperands<float>&, const AttentionResults<float>&);
template void attend_in_parts(const AttentionShape&, const AttentionOperands<double>&, const AttentionResults<double>&);
template void attend_in_parts(const AttentionShape&, const AttentionOperands<BFloat16>&,
                              const AttentionResults<BFloat16>&);

}  // namespace tape::kernels::cuda
