#include "autograd/ops/attention/heads.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/shape/shape.h"
#include "base/error.h"

namespace tape {

Tensor split_heads(const Tensor& x, int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.size(-1) % heads != 0)
    raise(ErrorKind::shape, "split_heads: x must be [B, T, H D] with {} heads, got {}", heads, to_string(x.shape()));
  return permute(reshape(x, Shape{x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  if (x.rank() != 4) raise(ErrorKind::shape, "merge_heads: x must be [B, H, T, D], got {}", to_string(x.shape()));
  return reshape(permute(x, {0, 2, 1, 3}), Shape{x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor gather_kv(const Tensor& x, const Tensor& rows, int64_t length) {
  if (!rows.defined()) return x.size(-2) == length ? x : slice(x, -2, {.end = length});
  const int64_t room = x.size(1), count = rows.size(0);
  const Tensor positions = slice(rows, 1, {.end = length}) * room + arange(length, rows.options());
  return reshape(
      index_select(reshape(x, Shape{x.size(0) * room, x.size(2)}), 0, reshape(positions, Shape{count * length})),
      Shape{count, length, x.size(2)});
}

Tensor masked_scores(const Tensor& scores, const Mask& mask) {
  Tensor added = mask.bias().defined() ? scores + mask.bias() : scores;
  if (!mask.causal_offset() && !mask.first_offset() && !mask.keep_mask().defined()) return added;
  return masked_fill(added, logical_not(mask.to_tensor(scores.size(-2), scores.size(-1), scores.device())), -INFINITY);
}

}  // namespace tape
