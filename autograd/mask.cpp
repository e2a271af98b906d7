#include "autograd/mask.h"

#include <algorithm>
#include <limits>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/shape/shape.h"

namespace tape {

Mask Mask::causal(int64_t offset) {
  if (offset < 0) raise(ErrorKind::config, "Mask::causal: the offset must not be negative, got {}", offset);
  Mask mask;
  mask.causal_ = offset;
  return mask;
}

Mask Mask::window(int64_t left, int64_t right, int64_t offset) {
  if (left < 0 || right < 0)
    raise(ErrorKind::config, "Mask::window: left and right must not be negative, got {} and {}", left, right);
  if (offset < 0) raise(ErrorKind::config, "Mask::window: the offset must not be negative, got {}", offset);
  constexpr int64_t kFar = std::numeric_limits<int64_t>::max() / 4;  // exceeds every length without overflowing sums
  Mask mask;
  mask.first_ = offset - std::min(left, kFar);
  mask.causal_ = std::min(offset, kFar) + std::min(right, kFar);
  return mask;
}

Mask Mask::padding(const Tensor& ids, int64_t padding_id) {
  if (ids.dtype() != i64) raise(ErrorKind::dtype, "Mask::padding: ids must be i64, got {}", to_string(ids.dtype()));
  if (ids.rank() < 1 || ids.rank() > 2)
    raise(ErrorKind::shape, "Mask::padding: ids must be [B, T] or [T], got {}", to_string(ids.shape()));
  const int64_t batch = ids.rank() == 2 ? ids.size(0) : 1;
  return keep(reshape(ne(ids, padding_id), Shape{batch, 1, 1, ids.size(-1)}));
}

Mask Mask::keep(const Tensor& keep) {
  if (keep.dtype() != boolean)
    raise(ErrorKind::dtype, "Mask::keep: needs bool, got {}; use Mask::additive for a bias on the scores",
          to_string(keep.dtype()));
  Mask mask;
  mask.keep_mask_ = keep;
  return mask;
}

Mask Mask::additive(const Tensor& scores) {
  if (!is_floating(scores.dtype()))
    raise(ErrorKind::dtype, "Mask::additive: needs a floating dtype, got {}; use Mask::keep for a bool mask",
          to_string(scores.dtype()));
  Mask mask;
  mask.bias_ = scores;
  return mask;
}

Mask operator&(const Mask& a, const Mask& b) {
  Mask both;
  both.causal_ = a.causal_ && b.causal_ ? std::min(*a.causal_, *b.causal_) : a.causal_ ? a.causal_ : b.causal_;
  both.first_ = a.first_ && b.first_ ? std::max(*a.first_, *b.first_) : a.first_ ? a.first_ : b.first_;
  both.keep_mask_ = a.keep_mask_.defined() && b.keep_mask_.defined() ? logical_and(a.keep_mask_, b.keep_mask_)
                    : a.keep_mask_.defined()                         ? a.keep_mask_
                                                                     : b.keep_mask_;
  both.bias_ = a.bias_.defined() && b.bias_.defined() ? a.bias_ + b.bias_ : a.bias_.defined() ? a.bias_ : b.bias_;
  return both;
}

Mask Mask::with_bias(const Tensor& scores) const {
  Mask mask = *this;
  mask.bias_ = additive(scores).bias_;
  return mask;
}

Mask Mask::structure() const {
  Mask mask;
  mask.causal_ = causal_, mask.first_ = first_;
  return mask;
}

Mask Mask::slice_keys(int64_t first) const {
  if (first == 0) return *this;
  const auto cut = [first](const Tensor& x) {
    return x.defined() && x.rank() > 0 && x.size(-1) != 1 ? slice(x, -1, {.start = first}) : x;
  };
  Mask mask = *this;
  if (mask.causal_) *mask.causal_ -= first;
  if (mask.first_) *mask.first_ -= first;
  mask.keep_mask_ = cut(keep_mask_), mask.bias_ = cut(bias_);
  return mask;
}

Tensor Mask::to_tensor(int64_t query_length, int64_t key_length, Device device) const {
  if (keep_mask_.defined()) device = keep_mask_.device();
  Tensor seen = keep_mask_;
  const auto hide = [&seen](const Tensor& kept) { seen = seen.defined() ? logical_and(kept, seen) : kept; };
  const Tensor query = reshape(arange(query_length, {i64, device}), Shape{query_length, 1}),
               key = arange(key_length, {i64, device});
  // Clamped so that the sums below cannot overflow; beyond the last key the offset has no effect.
  const auto near = [&](int64_t offset) { return std::clamp(offset, -query_length, key_length); };
  if (causal_) hide(le(key, query + near(*causal_)));
  if (first_) hide(ge(key, query + near(*first_)));
  return seen.defined() ? seen : full({1, 1}, 1, {boolean, device});
}

Mask source_mask(const Tensor& ids, int64_t padding_id) { return Mask::padding(ids, padding_id); }

Mask target_mask(const Tensor& ids, int64_t padding_id) {
  const Mask seen = Mask::padding(ids, padding_id);
  const int64_t length = ids.size(-1);
  const Tensor begins = reshape(eq(arange(length, ids.options()), 0.0), Shape{1, 1, 1, length});
  return Mask::causal() & Mask::keep(logical_or(seen.keep_mask(), begins));
}

}  // namespace tape
