#include "autograd/ops/product/linear_max.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "autograd/create.h"
#include "autograd/kernels/product/common/bf16_backend.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/activation_dtype.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
/// Smaller weights fit in the caches, where reading them in int8 first does not pay.
constexpr int64_t kMinWeightSize = 1 << 18;
/// At most one in so many rows of the weight may be multiplied in full precision.
constexpr int64_t kMinPruning = 8;

/// Number of classes to consider out of n.
int64_t vocab_size_of(const char* operation, int64_t vocab_limit, int64_t n) {
  if (vocab_limit < 0 || vocab_limit > n)
    raise(ErrorKind::config, "{}: vocab_limit must be from 0 (all) to {}, got {}", operation, n, vocab_limit);
  return vocab_limit == 0 ? n : vocab_limit;
}

/// The first `vocab_limit` values along the last axis.
Tensor first_of(const char* operation, const Tensor& x, int64_t vocab_limit) {
  if (x.rank() == 0) raise(ErrorKind::shape, "{}: x must have an axis", operation);
  vocab_limit = vocab_size_of(operation, vocab_limit, x.size(-1));
  return vocab_limit == x.size(-1) ? x : slice(x, -1, {.end = vocab_limit});
}

/// Ids that may be among the largest, ascending [n] (i64), and their scores [1, n].
struct Candidates {
  Tensor ids, scores;
};

/// Candidates for the `top` largest values of linear(x, weight, bias) [1, words], with bitwise the same scores. Returns
/// none if the whole product must be computed: for several rows, which have many candidates together; if top exceeds
/// half of the groups, each of which gives one bound; if the weight has no int8 copy (read_int8()) or too many
/// candidates remain; in a Composed scope; and with bf16 activations.
std::optional<Candidates> candidates(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t top,
                                     int64_t vocab_limit) {
  if (x.dtype() != f32 || x.numel() != weight.size(1) || weight.numel() < kMinWeightSize || Composed::active())
    return {};
  if (activation_dtype(weight) != f32) return {};
  if (kernels::precision_in_use(MatmulPrecisionScope::current()) != MatmulPrecision::highest) return {};
  if (top > std::max<int64_t>(1, kernels::Int8Rows{.n = vocab_limit}.groups() / 2)) return {};
  const Int8Weight kept = read_int8(weight);
  if (!kept.held) return {};
  kernels::Int8Rows rows = kept.rows;
  rows.n = vocab_limit;
  const Tensor row = reshape(x, {1, -1});
  Tensor upper = empty({vocab_limit}, x.options()), lower = empty({rows.groups()}, x.options());
  run_kernels("linear_max", x.device(), [&](const KernelCall& at) {
    kernels::int8_rows().bound(rows, at.in<float>(row), at.in<float>(bias), at.out<float>(upper), at.out<float>(lower));
  });
  const Tensor least = slice(topk(lower, top).values, 0, {.start = top - 1});
  const Tensor found = flat_nonzero(logical_not(lt(upper, least)));  // keeps NaN
  if (found.size(0) > vocab_limit / kMinPruning) return {};
  return Candidates{
      found, linear(row, index_select(weight, 0, found), bias.defined() ? index_select(bias, 0, found) : Tensor())};
}

}  // namespace

TopK max_with_index(const Tensor& x, int64_t vocab_limit) {
  const NoGrad no_grad;
  const Tensor among = first_of("max_with_index", x, vocab_limit);
  const Tensor indices = argmax(among, -1, Dims::keep);
  const Tensor values = gather(among, -1, indices);
  return {is_half(x.dtype()) ? cast(values, f32) : values, indices};
}

Tensor keep_top_k(const Tensor& x, int64_t k, int64_t vocab_limit) {
  if (k < 1) raise(ErrorKind::config, "keep_top_k: k must be at least 1, got {}", k);
  const NoGrad no_grad;
  const Tensor first = first_of("keep_top_k", x.detach(), vocab_limit),
               among = is_half(x.dtype()) ? cast(first, f32) : first;
  if (k >= among.size(-1)) return among.shares_storage(x) ? among.clone() : among;
  Tensor best = topk(among, k).values;
  // NaN sorts first but does not count among the k.
  if (any(isnan(slice(best, -1, {.end = 1}))).item<bool>())
    best = topk(masked_fill(among, isnan(among), kNever), k).values;
  const Tensor last = slice(best, -1, {.start = k - 1});
  return masked_fill(among, lt(among, last), kNever);
}

TopK linear_max(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t vocab_limit) {
  check_linear("linear_max", x, weight, bias);
  vocab_limit = vocab_size_of("linear_max", vocab_limit, weight.size(0));
  const NoGrad no_grad;
  const auto found = candidates(x, weight, bias, 1, vocab_limit);
  if (!found) return max_with_index(linear(x, weight, bias), vocab_limit);
  const TopK best = max_with_index(found->scores);
  observe_use({x, weight, bias});
  const Shape one = x.shape().with(x.rank() - 1, 1);
  return {reshape(best.values, one), reshape(index_select(found->ids, 0, flatten(best.indices)), one)};
}

Tensor linear_top_k(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t k, int64_t vocab_limit) {
  check_linear("linear_top_k", x, weight, bias);
  if (k < 1) raise(ErrorKind::config, "linear_top_k: k must be at least 1, got {}", k);
  vocab_limit = vocab_size_of("linear_top_k", vocab_limit, weight.size(0));
  const NoGrad no_grad;
  const auto found = candidates(x, weight, bias, k, vocab_limit);
  if (!found) return keep_top_k(linear(x, weight, bias), k, vocab_limit);
  const Tensor scores =
      index_copy(full({1, vocab_limit}, kNever, found->scores.options()), 1, found->ids, keep_top_k(found->scores, k));
  observe_use({x, weight, bias});
  return reshape(scores, x.shape().with(x.rank() - 1, vocab_limit));
}

}  // namespace tape
