#include "autograd/ops/linear_max.h"

#include <optional>

#include "autograd/create.h"
#include "autograd/kernels/bf16_road.h"
#include "autograd/kernels/gemm.h"
#include "autograd/kernels/rounded_product.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/check.h"
#include "autograd/ops/compare.h"
#include "autograd/ops/data_or_null.h"
#include "autograd/ops/index.h"
#include "autograd/ops/join.h"
#include "autograd/ops/masked.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/packed_weight.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

/// A smaller weight lies in the caches.
constexpr int64_t kLeastWeight = 1 << 18;
/// So many rows of x are looked at together, and of the weight's, one in so many may be multiplied for them.
constexpr int64_t kRowsTogether = 64, kOneIn = 8;

TopK composed(const Tensor& x, const Tensor& weight, const Tensor& bias) { return max_at(linear(x, weight, bias)); }

/// Whether the product of each row of the weight and x, a single one, may be the largest.
Tensor marked_for_one(const Tensor& x, const Tensor& bias, const kernels::RoundedRows& rows) {
  Tensor upper = empty({rows.n});
  const float least =
      kernels::rounded_rows().bracket(rows, x.data<float>(), data_or_null<float>(bias), upper.mutable_data<float>());
  return logical_not(lt(upper, least));  // NaN is not below
}

/// The rows of the weight whose product with one of x [m, in] may be the largest, in order.
Tensor candidates_of(const Tensor& x, const Tensor& bias, const kernels::RoundedRows& rows) {
  const int64_t m = x.size(0);
  if (m == 1) return flat_nonzero(marked_for_one(x, bias, rows));
  Tensor may = empty({rows.n}, boolean);
  kernels::fast_rounded_product()->mark(rows, m, x.data<float>(), data_or_null<float>(bias), may.mutable_data<bool>());
  return flat_nonzero(may);
}

/// linear() of some rows of a large weight that is kept packed, by the kernels that multiply it as a whole: the same
/// bits, which do not depend on what else is computed with them.
Tensor part_of_linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const int64_t m = x.size(0), n = weight.size(0), k = weight.size(1);
  kernels::Gemm product{.transpose_b = true, .m = m, .n = n, .k = k, .lda = k, .ldb = k, .ldc = n};
  keep_packed(weight, true);
  const Ref<Storage> packed = read_packed(weight, product);
  if (!packed) product.m = 1;  // several rows are not multiplied by a small weight as they are by a large one
  Tensor y = empty({m, n});
  for (int64_t row = 0; row < m; row += product.m)
    kernels::gemm(product, x.data<float>() + row * k, weight.data<float>(), y.mutable_data<float>() + row * n,
                  data_or_null<float>(bias));
  return y;
}

/// linear_max() of x [m, in] by the candidates alone, nothing where they are many.
std::optional<TopK> screened(const Tensor& x, const Tensor& weight, const Tensor& bias,
                             const kernels::RoundedRows& rows) {
  const Tensor candidates = candidates_of(x, bias, rows);
  if (candidates.size(0) > rows.n / kOneIn) return std::nullopt;
  const TopK best = max_at(part_of_linear(x, index_select(weight, 0, candidates),
                                          bias.defined() ? index_select(bias, 0, candidates) : Tensor()));
  return TopK{best.values, index_select(candidates, 0, flatten(best.indices))};
}

/// Whether the product is one of f32 whose kernels part_of_linear() has, and something multiplies so many rows in 8
/// bits faster.
bool may_screen(const Tensor& x, const Tensor& weight) {
  if (x.dtype() != f32 || weight.numel() < kLeastWeight || x.numel() == 0 || Composed::active()) return false;
  if (kernels::precision_in_use(MatmulPrecisionScope::current()) != MatmulPrecision::highest) return false;
  return x.numel() == weight.size(1) || (kernels::fast_rounded_product() && weight.size(1) <= kernels::kLongestRow);
}

}  // namespace

TopK max_at(const Tensor& x) {
  const NoGrad no_grad;
  const Tensor indices = argmax(x, -1, Dims::keep);
  const Tensor values = gather(x, -1, indices);
  return {is_half(x.dtype()) ? cast(values, f32) : values, indices};
}

TopK linear_max(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_linear("linear_max", x, weight, bias);
  const NoGrad no_grad;
  const RoundedWeight rounded = may_screen(x, weight) ? read_rounded(weight) : RoundedWeight();
  if (!rounded.held) return composed(x, weight, bias);
  const Tensor rows = reshape(x, {-1, weight.size(1)});
  Tensors values, indices;
  for (const Tensor& part : chunk(rows, (rows.size(0) + kRowsTogether - 1) / kRowsTogether, 0)) {
    const std::optional<TopK> best = screened(part, weight, bias, rounded.rows);
    if (!best) return composed(x, weight, bias);
    values.push_back(best->values);
    indices.push_back(best->indices);
  }
  observe_use({x, weight, bias});
  const Shape one = x.shape().with(x.rank() - 1, 1);
  return {reshape(cat(values, 0), one), reshape(cat(indices, 0), one)};
}

}  // namespace tape
