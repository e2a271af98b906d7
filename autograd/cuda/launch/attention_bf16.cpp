#include <algorithm>
#include <optional>

#include "autograd/cuda/kernels/attention/attention_bf16_shape.h"
#include "autograd/cuda/launch/attention_decode.h"
#include "autograd/kernels/attention/attention.h"

namespace tape::kernels::cuda {
namespace {

/// A kernel for each width of rows in shared memory.
struct WidthKernels {
  Kernel w32, w64, w96, w128;

  const Kernel& of(int width) const { return width == 32 ? w32 : width == 64 ? w64 : width == 96 ? w96 : w128; }
};
#define TAPE_WIDTH_KERNELS(name) \
  { Kernel(#name "_bf16_32"), Kernel(#name "_bf16_64"), Kernel(#name "_bf16_96"), Kernel(#name "_bf16_128") }

constinit const WidthKernels kForward = TAPE_WIDTH_KERNELS(attention_forward);
constinit const WidthKernels kQueryGradient = TAPE_WIDTH_KERNELS(attention_query_gradient);
constinit const WidthKernels kKeyGradients = TAPE_WIDTH_KERNELS(attention_key_gradients);
constinit const Kernel kStatistics("attention_statistics_bf16");

int padded_width(const AttentionShape& s) { return AttentionBf16::padded(std::max(s.D, s.Dv)); }

/// A block's rows: as many warps as they need.
struct Blocks {
  int64_t warps, rows, count;

  Blocks(const Bf16Tile& tile, int64_t heads, int64_t positions)
      : warps(std::clamp<int64_t>(quotient_up(positions, tile.rows), 1, AttentionBf16::kMostWarps)),
        rows(warps * tile.rows),
        count(heads * quotient_up(positions, rows)) {}
};

/// Launches a kernel that has the rows of a block in shared memory, once or twice, and two stages of other rows.
template <class... A>
void launch(const WidthKernels& kernels, const Bf16Tile& tile, const Blocks& blocks, int tiles, int64_t more_bytes,
            const AttentionShape& s, const A&... arguments) {
  const int width = padded_width(s);
  const int64_t shared = AttentionBf16::bytes(tiles * blocks.rows + 4 * tile.columns, width) + more_bytes;
  // 2^32 blocks would have results larger than any memory.
  kernels.of(width).with_shared({static_cast<uint32_t>(blocks.count)}, {static_cast<uint32_t>(blocks.warps * 32)},
                                shared, s, arguments...);
}

/// A tensor at an address that is a multiple of 16: itself, or a copy, as of a slice that begins anywhere.
class Aligned {
 public:
  Aligned(const BFloat16* x, const HeadLayout& layout, int64_t batch, int64_t heads, int64_t rows, int64_t width)
      : x_(x) {
    if (reinterpret_cast<uintptr_t>(x) % 16 == 0 || batch * heads * rows * width == 0) return;
    const int64_t size = (batch - 1) * layout.batch + (heads - 1) * layout.head + (rows - 1) * layout.row + width;
    copy_.emplace(size);
    cuda_device::copy_on_device(copy_->get(), x, size * static_cast<int64_t>(sizeof(BFloat16)));
    x_ = copy_->get();
  }
  const BFloat16* get() const { return x_; }

 private:
  const BFloat16* x_;
  std::optional<DeviceScratch<BFloat16>> copy_;
};

/// The operands at addresses that kernels take.
struct AlignedOperands {
  Aligned q, k, v;
  AttentionOperands<BFloat16> in;

  AlignedOperands(const AttentionShape& s, const AttentionOperands<BFloat16>& operands)
      : q(operands.q, s.q, s.B, s.H, s.Tq, s.D),
        k(operands.k, s.k, s.B, s.H / s.group, s.Tk, s.D),
        v(operands.v, s.v, s.B, s.H / s.group, s.Tk, s.Dv),
        in(operands) {
    in.q = q.get();
    in.k = k.get();
    in.v = v.get();
  }
};

void attention_forward(const AttentionShape& s, const AttentionOperands<BFloat16>& operands,
                       const AttentionResults<BFloat16>& to) {
  const AlignedOperands aligned(s, operands);
  // Also before a backward pass, which reads the output: rounding it to bf16 matters far more than the order of sums.
  if (has_few_queries<BFloat16>(s)) return attend_in_parts<BFloat16>(s, aligned.in, to);
  const Bf16Tile tile = AttentionBf16::forward(padded_width(s));
  launch(kForward, tile, Blocks(tile, s.B * s.H, s.Tq), 1, 0, s, aligned.in, to, Bf16Factors(s.scale, s.dropout));
}

void attention_backward(const AttentionShape& s, const AttentionOperands<BFloat16>& operands,
                        const AttentionGradients<BFloat16>& gradients) {
  const int64_t rows = s.B * s.H * s.Tq;
  const AlignedOperands aligned(s, operands);
  const Aligned dout(gradients.dout, s.out, s.B, s.H, s.Tq, s.Dv), out(gradients.out, s.out, s.B, s.H, s.Tq, s.Dv);
  AttentionGradients<BFloat16> g = gradients;
  g.dout = dout.get();
  g.out = out.get();
  const DeviceScratch<float> statistics(2 * rows);
  constexpr int64_t kLanes = 8;  // per row
  launch_elements(kStatistics, rows * kLanes, s, g, statistics.get());
  const int width = padded_width(s);
  const Bf16Factors factors(s.scale, s.dropout);
  if (g.dq) {
    const Bf16Tile tile = AttentionBf16::query_gradient(width);
    launch(kQueryGradient, tile, Blocks(tile, s.B * s.H, s.Tq), 2, 0, s, aligned.in, g, factors, statistics.constant());
  }
  if (g.dk || g.dv) {
    const Bf16Tile tile = AttentionBf16::key_gradients(width);
    const int64_t of_queries = 4 * tile.columns * static_cast<int64_t>(sizeof(float));
    launch(kKeyGradients, tile, Blocks(tile, s.B * (s.H / s.group), s.Tk), 2, of_queries, s, aligned.in, g, factors,
           statistics.constant());
  }
}

}  // namespace

extern const AttentionKernels<BFloat16> attention_bf16 = {.forward = attention_forward, .backward = attention_backward};

}  // namespace tape::kernels::cuda
