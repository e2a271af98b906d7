#include "autograd/ops/attention/rotary.h"

#include <tuple>
#include <utility>

#include "autograd/kernels/attention/rotary.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/fused.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

constexpr const char* kRotaryEmbedding = "rotary_embedding";

/// Rotates each pair by an angle with cosine c and sine s; dx is dy rotated by the negative angle.
const Op rotary_op(
    {.name = "rotary_embedding",
     .formula = {.forward = "y{y} = (u ⊙ c − v ⊙ s, u ⊙ s + v ⊙ c) for the rotated pairs (u, v) in x{0}, c{1}, s{2}, "
                            "in each of {num_heads} heads",
                 .backward = {"dx{x} = (du ⊙ c + dv ⊙ s, dv ⊙ c − du ⊙ s), dy = (du, dv)",
                              "dc{x} = Σ du ⊙ u + dv ⊙ v over heads, and over texts that share c",
                              "ds{x} = Σ dv ⊙ u − du ⊙ v over heads, and over texts that share s"}}});

void check_shapes(const Tensor& x, const Tensor& cosine, const Tensor& sine, const RotaryEmbeddingOptions& options) {
  if (x.rank() != 3)
    raise(ErrorKind::shape, "{}: x must be [B, T, H D], got {}", kRotaryEmbedding, to_string(x.shape()));
  if (options.num_heads < 1 || x.size(-1) % options.num_heads != 0)
    raise(ErrorKind::config, "{}: width {} is not divisible by num_heads {}", kRotaryEmbedding, x.size(-1),
          options.num_heads);
  check_floating(kRotaryEmbedding, x);
  check_same_dtype(kRotaryEmbedding, cosine, sine);
  // For f16 and bf16, the tables may be in f32.
  if (cosine.dtype() != compute_dtype(x.dtype())) check_same_dtype(kRotaryEmbedding, x, cosine);
  check_same_shape(kRotaryEmbedding, cosine, sine);
  const int64_t width = x.size(-1) / options.num_heads, rank = cosine.rank();
  const bool fits = (rank == 2 || (rank == 3 && cosine.size(0) == x.size(0))) && cosine.size(-2) == x.size(1) &&
                    2 * cosine.size(-1) <= width;
  if (!fits)
    raise(ErrorKind::shape, "{}: cosine and sine {} do not fit x {} with {} heads of width {}", kRotaryEmbedding,
          to_string(cosine.shape()), to_string(x.shape()), options.num_heads, width);
}

/// The two components of the rotated pairs, [B, T, H, R/2] each.
struct Pairs {
  Tensor u, v;
};

Tensor view_heads(const Tensor& x, int64_t heads) {
  return reshape(x, Shape{x.size(0), x.size(1), heads, x.size(-1) / heads});
}

Pairs pairs_of(const Tensor& heads, int64_t pairs, const RotaryEmbeddingOptions& options) {
  const Tensor turning = slice(heads, -1, {.end = 2 * pairs});
  if (options.interleaved) return {slice(turning, -1, {.step = 2}), slice(turning, -1, {.start = 1, .step = 2})};
  return {slice(turning, -1, {.end = pairs}), slice(turning, -1, {.start = pairs})};
}

struct RotaryEmbedding {
  RotaryEmbeddingOptions options;
  kernels::RotaryShape shape;

  /// Only the gradients of the tables read x.
  Tensor saved_input(size_t i, Inputs in) const { return i > 0 || needs_record(in.subspan(1)) ? in[i] : Tensor(); }
  bool computes_bf16(const kernels::Target& target, Inputs in) const {
    return kernels::has_bf16_kernels(target) && in[1].dtype() == f32;
  }
  void forward(const auto& c) const {
    kernels::rotary(c).turn(shape, c.in(0), c.parameter(1), c.parameter(2), c.out());
  }
  Tensors gradients(const BackwardContext& c) const {
    Tensors gradients(3);
    if (c.needs(0)) gradients[0] = rotary_embedding(c.grad(), c.saved(1), -c.saved(2), options);
    if (c.needs(1) || c.needs(2)) std::tie(gradients[1], gradients[2]) = of_tables(c.saved(0), c.grad(), c.saved(1));
    return gradients;
  }
  /// In the tables' dtype, which may be f32 where x and dy are bf16.
  std::pair<Tensor, Tensor> of_tables(const Tensor& x, const Tensor& dy, const Tensor& table) const {
    const auto split = [&](const Tensor& of) {
      return pairs_of(view_heads(cast(of, table.dtype()), options.num_heads), shape.pairs, options);
    };
    const auto [u, v] = split(x);
    const auto [du, dv] = split(dy);
    return {sum_to(sum(du * u + dv * v, -2), table.shape()), sum_to(sum(dv * u - du * v, -2), table.shape())};
  }
  Tensor reference(Inputs in) const {
    const Tensor heads = view_heads(in[0], options.num_heads), c = unsqueeze(in[1], -2), s = unsqueeze(in[2], -2);
    const auto [u, v] = pairs_of(heads, shape.pairs, options);
    const Tensor turned_u = u * c - v * s, turned_v = u * s + v * c;
    Tensor y = options.interleaved ? flatten(stack({turned_u, turned_v}, -1), -2) : cat({turned_u, turned_v}, -1);
    if (2 * shape.pairs < shape.width) y = cat({y, slice(heads, -1, {.start = 2 * shape.pairs})}, -1);
    return reshape(y, in[0].shape());
  }
};

}  // namespace

Tensor rotary_embedding(const Tensor& x, const Tensor& cosine, const Tensor& sine,
                        const RotaryEmbeddingOptions& options) {
  check_shapes(x, cosine, sine, options);
  const kernels::RotaryShape shape{.texts = x.size(0),
                                   .length = x.size(1),
                                   .heads = options.num_heads,
                                   .width = x.size(-1) / options.num_heads,
                                   .pairs = cosine.size(-1),
                                   .next_text = cosine.rank() == 3 ? x.size(1) * cosine.size(-1) : 0,
                                   .interleaved = options.interleaved};
  return fused(rotary_op, {x, cosine, sine}, RotaryEmbedding{options, shape},
               {{"num_heads", options.num_heads}, {"interleaved", options.interleaved}});
}

}  // namespace tape
