#include "autograd/ops/product/linear_max.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/create.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/product/screened_linear.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// How many words are asked for of n.
int64_t words_of(const char* operation, int64_t words, int64_t n) {
  if (words < 0 || words > n)
    raise(ErrorKind::config, "{}: words must be from 0 (all) to {}, got {}", operation, n, words);
  return words == 0 ? n : words;
}

void check_k(const char* operation, int64_t k) {
  if (k < 1) raise(ErrorKind::config, "{}: k must be at least 1, got {}", operation, k);
}

/// The first `words` along the last axis.
Tensor first_of(const char* operation, const Tensor& x, int64_t words) {
  if (x.rank() == 0) raise(ErrorKind::shape, "{}: x must have an axis", operation);
  words = words_of(operation, words, x.size(-1));
  return words == x.size(-1) ? x : slice(x, -1, {.end = words});
}

}  // namespace

TopK max_at(const Tensor& x, int64_t words) {
  const NoGrad no_grad;
  const Tensor among = first_of("max_at", x, words);
  const Tensor indices = argmax(among, -1, Dims::keep);
  const Tensor values = gather(among, -1, indices);
  return {is_half(x.dtype()) ? cast(values, f32) : values, indices};
}

Tensor keep_top_k(const Tensor& x, int64_t k, int64_t words) {
  check_k("keep_top_k", k);
  const NoGrad no_grad;
  const Tensor first = first_of("keep_top_k", x.detach(), words), among = is_half(x.dtype()) ? cast(first, f32) : first;
  if (k >= among.size(-1)) return among;
  Tensor best = topk(among, k).values;
  // NaN is not one of the k, and would be the first of them.
  if (any(isnan(slice(best, -1, {.end = 1}))).item<bool>())
    best = topk(masked_fill(among, isnan(among), kNever), k).values;
  const Tensor last = slice(best, -1, {.start = k - 1});
  return masked_fill(among, lt(among, last), kNever);
}

TopK linear_max(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t words) {
  check_linear("linear_max", x, weight, bias);
  words = words_of("linear_max", words, weight.size(0));
  const NoGrad no_grad;
  const std::vector<ScreenedRows> screened = screened_linear(x, weight, bias, 1, words);
  if (screened.empty()) return max_at(linear(x, weight, bias), words);
  Tensors values, indices;
  for (const ScreenedRows& rows : screened) {
    const TopK best = max_at(rows.scores);
    values.push_back(best.values);
    indices.push_back(index_select(rows.words, 0, flatten(best.indices)));
  }
  observe_use({x, weight, bias});
  const Shape one = x.shape().with(x.rank() - 1, 1);
  return {reshape(cat(values, 0), one), reshape(cat(indices, 0), one)};
}

Tensor linear_top_k(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t k, int64_t words) {
  check_linear("linear_top_k", x, weight, bias);
  check_k("linear_top_k", k);
  words = words_of("linear_top_k", words, weight.size(0));
  const NoGrad no_grad;
  const std::vector<ScreenedRows> screened = screened_linear(x, weight, bias, k, words);
  if (screened.empty()) return keep_top_k(linear(x, weight, bias), k, words);
  Tensors scores;
  for (const ScreenedRows& rows : screened)
    scores.push_back(index_copy(full({rows.scores.size(0), words}, kNever), 1, rows.words, keep_top_k(rows.scores, k)));
  observe_use({x, weight, bias});
  return reshape(cat(scores, 0), x.shape().with(x.rank() - 1, words));
}

}  // namespace tape
