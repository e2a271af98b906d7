#include "autograd/ops/loss/embedding_loss.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/promote.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/reduce/statistics.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

const Op normalize_op({.name = "normalize",
                       .formula = {.forward = "y{y} = x / max(|x|, {eps}) along axis {axis}",
                                   .backward = {"dx = (dy − y Σ dy ⊙ y) / |x|, dy / {eps} where that is larger"}}});

const Op cosine_similarity_op(
    {.name = "cosine_similarity",
     .formula = {.forward = "y{y} = Σ u ⊙ v along axis {axis}, u = a{0} / max(|a|, {eps}), v = b{1} / max(|b|, {eps})",
                 .backward = {"da = dy (v − y u) / |a|, dy v / {eps} where that is larger",
                              "db = dy (u − y v) / |b|, dy u / {eps} where that is larger"},
                 .summed = Summed::repeated_axes}});

const Op cosine_embedding_loss_op(
    {.name = "cosine_embedding_loss",
     .formula = {.forward = "y{y} = 1 − x where the target is 1, else max(0, x − {margin})",
                 .backward = {"dx = −dy where the target is 1, else dy where x > {margin}, else 0"}},
     .traits = {.has_kinks = true}});

const Op triplet_margin_loss_op(
    {.name = "triplet_margin_loss",
     .formula = {.forward = "y{y} = max(0, {margin} + p{0} − n{1}), distances to the positive and the negative",
                 .backward = {"dp = dy where y > 0, else 0", "dn = −dp"}},
     .traits = {.has_kinks = true}});

/// x / max(|x|, eps), the divisor, and whether the divisor is |x|.
struct Direction {
  Tensor unit, length, counts;
};
Direction direction(const Tensor& x, int64_t axis, double eps) {
  const Tensor length = norm(x, 2, axis, Dims::keep), counts = logical_not(le(length.detach(), eps));  // NaN too
  const Tensor held = masked_fill(length, logical_not(counts), eps);
  return {x / held, held, counts};
}

/// Gradient of x from the gradient g of its unit vector u: (g - u sum(g u)) / |x|, or g / eps where |x| was clamped.
Tensor direction_gradient(const Direction& d, const Tensor& g, int64_t axis) {
  const Tensor along = masked_fill(sum(g * d.unit, axis, Dims::keep), logical_not(d.counts), 0);
  return (g - d.unit * along) / d.length;
}

void check_eps(const char* name, double eps) {
  if (!(eps > 0) || std::isinf(eps)) raise(ErrorKind::config, "{}: eps must be above 0 and finite, got {}", name, eps);
}

/// Whether each pair is similar (target 1).
Tensor is_similar(const Tensor& a, const Tensor& target) {
  if (target.dtype() != i64) check_same_dtype("cosine_embedding_loss", a, target);
  Tensor same = eq(target, 1);
  check_none(ErrorKind::config, "cosine_embedding_loss", logical_not(logical_or(same, eq(target, -1))),
             "targets must be 1 or -1");
  return same;
}

Tensor distance(const Tensor& a, const Tensor& b, const TripletMarginOptions& o) {
  return norm(a - b + o.eps, o.p, -1);
}

}  // namespace

Tensor normalize(const Tensor& x, int64_t axis, const NormalizeOptions& options) {
  const double eps = options.eps;
  check_floating("normalize", x);
  check_eps("normalize", eps);
  axis = x.shape().axis(axis, "normalize");
  const auto unit = [=](const Tensor& v) {
    return record(normalize_op, {v}, direction(v.detach(), axis, eps).unit, {v},
                  [=](const BackwardContext& c) -> Tensors {
                    return {direction_gradient(direction(c.saved(0), axis, eps), c.grad(), axis)};
                  },
                  {{"axis", axis}, {"eps", eps}});
  };
  return in_compute_dtype(unit, x);
}

Tensor cosine_similarity(const Tensor& a, const Tensor& b, int64_t axis, double eps) {
  check_same_dtype("cosine_similarity", a, b);
  check_floating("cosine_similarity", a);
  check_eps("cosine_similarity", eps);
  const Shape whole = broadcast_shapes("cosine_similarity", a.shape(), b.shape());
  axis = whole.axis(axis, "cosine_similarity");
  const int64_t from_end = axis - whole.rank();  // the operands may have different numbers of leading axes
  if (a.rank() + from_end < 0 || b.rank() + from_end < 0 || a.size(from_end) != b.size(from_end))
    raise(ErrorKind::shape, "cosine_similarity: sizes differ on axis {} of {}: {} and {}", axis, to_string(whole),
          to_string(a.shape()), to_string(b.shape()));
  const auto directions = [=](const Tensor& x) { return direction(x, from_end, eps); };
  const auto cosines = [=](const Tensor& p, const Tensor& q) {
    const Tensor y = sum(directions(p.detach()).unit * directions(q.detach()).unit, from_end);
    return record(cosine_similarity_op, {p, q}, y, {p, q},
                  [=](const BackwardContext& c) -> Tensors {
                    const Direction u = directions(c.saved(0)), v = directions(c.saved(1));
                    const Tensor dy = unsqueeze(c.grad(), axis);
                    const auto gradient = [&](size_t i, const Direction& of, const Direction& other) {
                      return c.needs(i) ? direction_gradient(of, dy * other.unit, from_end) : Tensor();
                    };
                    return {gradient(0, u, v), gradient(1, v, u)};
                  },
                  {{"axis", axis}, {"eps", eps}});
  };
  return in_compute_dtype(cosines, a, b);
}

Tensor cosine_embedding_loss(const Tensor& given_a, const Tensor& given_b, const Tensor& target,
                             const CosineEmbeddingOptions& options) {
  const double margin = options.margin;
  const auto [a, b] = loss_pair("cosine_embedding_loss", given_a, given_b);
  if (a.rank() < 1 || a.rank() > 2 || !(a.shape().slice(0, a.rank() - 1) == target.shape()))
    raise(ErrorKind::shape,
          "cosine_embedding_loss: vectors {} need a target of that shape without the last axis, got "
          "{}",
          to_string(a.shape()), to_string(target.shape()));
  if (!(margin >= -1 && margin <= 1))
    raise(ErrorKind::config, "cosine_embedding_loss: margin must be in [-1, 1], got {}", margin);
  const Tensor same = is_similar(a, target);
  const auto losses = [&](const Tensor& p, const Tensor& q) {
    const Tensor cosines = cosine_similarity(p, q, -1, 1e-6), x = cosines.detach();
    // Slope of each loss: -1 for similar pairs, 1 for dissimilar pairs within the margin, otherwise 0.
    const Tensor slope = where(same, full({}, -1, x.options()), cast(gt(x, margin), x.dtype()));
    return record(cosine_embedding_loss_op, {cosines}, where(same, 1 - x, relu(x - margin)), {slope},
                  [](const BackwardContext& c) -> Tensors { return {c.grad() * c.saved(0)}; }, {{"margin", margin}});
  };
  return reduced(in_compute_dtype(losses, a, b), options.reduction);
}

Tensor triplet_margin_loss(const Tensor& given_anchor, const Tensor& given_positive, const Tensor& given_negative,
                           const TripletMarginOptions& options) {
  const TripletMarginOptions& o = options;
  const auto [anchor, positive] = loss_pair("triplet_margin_loss", given_anchor, given_positive);
  const Tensor negative = loss_pair("triplet_margin_loss", given_anchor, given_negative).target;
  if (anchor.rank() < 1) raise(ErrorKind::shape, "triplet_margin_loss: needs vectors, got []");
  if (!(o.margin > 0) || !(o.p > 0) || !(o.eps >= 0))
    raise(ErrorKind::config, "triplet_margin_loss: needs margin > 0, p > 0 and eps >= 0, got {}, {} and {}", o.margin,
          o.p, o.eps);
  const auto losses = [&](const Tensor& a, const Tensor& p, const Tensor& n) {
    const Tensor near = distance(a, p, o);
    Tensor far = distance(a, n, o);
    if (o.swap) far = minimum(far, distance(p, n, o));
    const Tensor each = relu(near.detach() - far.detach() + o.margin), counts = cast(gt(each, 0), each.dtype());
    return record(triplet_margin_loss_op, {near, far}, each, {counts},
                  [](const BackwardContext& c) -> Tensors {
                    const Tensor dx = c.grad() * c.saved(0);
                    return {dx, -dx};
                  },
                  {{"margin", o.margin}});
  };
  return reduced(in_compute_dtype(losses, anchor, positive, negative), o.reduction);
}

Tensor info_nce(const Tensor& given_queries, const Tensor& given_keys, const InfoNceOptions& options) {
  const Tensor queries = loss_operand(given_queries), keys = loss_operand(given_keys);
  check_same_dtype("info_nce", queries, keys);
  check_floating("info_nce", queries);
  const bool matrices = queries.rank() == 2 && keys.rank() == 2;
  if (!matrices || queries.size(1) != keys.size(1) || keys.size(0) < queries.size(0))
    raise(ErrorKind::shape, "info_nce: needs queries [N, C] and at least as many keys [M, C], got {} and {}",
          to_string(queries.shape()), to_string(keys.shape()));
  if (options.symmetric && keys.size(0) != queries.size(0))
    raise(ErrorKind::shape, "info_nce: symmetric needs a query for each key, got {} and {}", to_string(queries.shape()),
          to_string(keys.shape()));
  if (!(options.temperature > 0) || std::isinf(options.temperature))
    raise(ErrorKind::config, "info_nce: temperature must be above 0 and finite, got {}", options.temperature);
  const auto losses = [&](const Tensor& q, const Tensor& k) {
    const Tensor logits = matmul(normalize(q), normalize(k), {.transpose_b = true}) / options.temperature,
                 own = arange(q.size(0), {i64, q.device()});
    const Tensor found = cross_entropy(logits, own, {.reduction = Reduction::none});
    if (!options.symmetric) return found;
    return 0.5 * (found + cross_entropy(transpose(logits), own, {.reduction = Reduction::none}));
  };
  return reduced(in_compute_dtype(losses, queries, keys), options.reduction);
}

}  // namespace tape
