#include "autograd/kernels/attention/attention.h"

#include <algorithm>

#include "autograd/cuda/kernels/attention/attention_shape.h"
#include "autograd/cuda/launch/attention_decode.h"

namespace tape::kernels::cuda {
namespace {

/// A kernel with tiles of two sizes.
struct TileKernels {
  FloatKernels large, small;
};
#define TAPE_TILE_KERNELS(name) \
  { TAPE_FLOAT_KERNELS(name), TAPE_FLOAT_KERNELS(name##_small) }

constinit const TileKernels kAttentionForward = TAPE_TILE_KERNELS(attention_forward);
constinit const TileKernels kAttentionProbabilities = TAPE_TILE_KERNELS(attention_probabilities);
constinit const TileKernels kAttentionDelta = TAPE_TILE_KERNELS(attention_delta);
constinit const TileKernels kAttentionQueryGradient = TAPE_TILE_KERNELS(attention_query_gradient);
constinit const TileKernels kAttentionKeyGradients = TAPE_TILE_KERNELS(attention_key_gradients);

/// Launches a kernel with one size of tiles, which suits the shape.
template <class T>
class TileLauncher {
 public:
  explicit TileLauncher(const AttentionShape& s)
      : small_(std::max(s.Tq, s.Tk) <= 2 * AttentionBlock::kSmallEdge),
        edge_(small_ ? AttentionBlock::kSmallEdge : AttentionBlock::edge(sizeof(T))) {}

  int64_t tiles(int64_t rows) const { return quotient_up(rows, edge_); }
  template <class... A>
  void operator()(const TileKernels& kernel, int64_t blocks, A... arguments) const {
    // 2^32 blocks would have results larger than any memory.
    (small_ ? kernel.small : kernel.large)
        .template of<T>()({static_cast<uint32_t>(blocks)}, {AttentionBlock::kSide * AttentionBlock::kSide},
                          arguments...);
  }

 private:
  bool small_;
  int64_t edge_;
};

/// Number of blocks that share the columns of a result; one for results without columns.
int64_t column_blocks(int64_t width) { return std::max<int64_t>(1, quotient_up(width, AttentionBlock::kColumns)); }

template <class T>
void attention_forward(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionResults<T>& to) {
  const TileLauncher<T> launch(s);
  const int64_t tiles = s.B * s.H * launch.tiles(s.Tq);
  // Kernels that read the statistics recompute the scores as the tiles do, not as the parts do. In f64 the difference
  // does not matter, and gradient checks need the same value whether it is recorded or not.
  const bool reads_statistics = sizeof(T) == sizeof(float) && (to.for_backward || to.probabilities);
  if (has_few_queries<T>(s) && !reads_statistics)
    attend_in_parts<T>(s, in, to);
  else
    launch(kAttentionForward, tiles * column_blocks(s.Dv), s, in, to);
  if (to.probabilities) launch(kAttentionProbabilities, tiles * launch.tiles(s.Tk), s, in, to);
}

template <class T>
void attention_backward(const AttentionShape& s, const AttentionOperands<T>& in, const AttentionGradients<T>& g) {
  const TileLauncher<T> launch(s);
  const int64_t rows = s.B * s.H * s.Tq, tiles = s.B * s.H * launch.tiles(s.Tq);
  const DeviceScratch<T> delta(rows);
  if (g.dq || g.dk || g.dadditive) launch(kAttentionDelta, tiles, s, in, g, delta.get());
  if (g.dadditive) cuda_device::fill_bytes(g.dadditive, 0, rows * s.Tk * static_cast<int64_t>(sizeof(T)));
  if (g.dq || g.dadditive)
    launch(kAttentionQueryGradient, tiles * (g.dq ? column_blocks(s.D) : 1), s, in, g, delta.constant());
  if (g.dk || g.dv)
    launch(kAttentionKeyGradients, s.B * (s.H / s.group) * launch.tiles(s.Tk) * column_blocks(std::max(s.D, s.Dv)), s,
           in, g, delta.constant());
}

}  // namespace

TAPE_DEFINE_TABLES(AttentionKernels, attention, .forward = attention_forward<T>, .backward = attention_backward<T>)

}  // namespace tape::kernels::cuda
