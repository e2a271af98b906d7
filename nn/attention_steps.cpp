#include "nn/attention_steps.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/shape.h"
#include "autograd/ops/softmax.h"

namespace tape::nn {

Tensor split_heads(const Tensor& x, int64_t heads) {
  if (x.rank() != 3 || heads < 1 || x.size(-1) % heads != 0)
    raise(ErrorKind::shape, "split_heads: x must be [B, T, H D] with {} heads, got {}", heads, to_string(x.shape()));
  return permute(reshape(x, Shape{x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  if (x.rank() != 4) raise(ErrorKind::shape, "merge_heads: x must be [B, H, T, D], got {}", to_string(x.shape()));
  return reshape(permute(x, {0, 2, 1, 3}), Shape{x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor masked_softmax(const Tensor& scores, const Mask& mask) {
  Tensor seen = mask.added().defined() ? scores + mask.added() : scores;
  if (mask.causal_offset() || mask.kept().defined())
    seen = masked_fill(seen, logical_not(mask.visible(scores.size(-2), scores.size(-1))), -INFINITY);
  return softmax(seen, -1);
}

Tensor rows_by_distance(int64_t query_length, int64_t key_length, const std::function<int64_t(int64_t)>& row_of) {
  Tensor rows = empty({query_length, key_length}, i64);
  int64_t* values = rows.mutable_data<int64_t>();
  for (int64_t i = 0; i < query_length; ++i)
    for (int64_t j = 0; j < key_length; ++j) values[i * key_length + j] = row_of(j - i);
  return rows;
}

}  // namespace tape::nn
