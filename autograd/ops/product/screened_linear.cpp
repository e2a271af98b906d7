#include "autograd/ops/product/screened_linear.h"

#include <algorithm>

#include "autograd/create.h"
#include "autograd/kernels/product/common/bf16_road.h"
#include "autograd/kernels/product/common/gemm.h"
#include "autograd/kernels/product/rounded_product.h"
#include "autograd/ops/data_or_null.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/product/packed_weight.h"
#include "autograd/ops/shape/join.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

/// A smaller weight lies in the caches.
constexpr int64_t kLeastWeight = 1 << 18;
/// So many rows of x are looked at together, and of the weight's, one in so many may be multiplied for them.
constexpr int64_t kRowsTogether = 64, kOneIn = 8;

/// Whether the product of each row of the weight and x, a single one, may be among the largest.
Tensor marked_for_one(const Tensor& x, const Tensor& bias, int64_t top, const kernels::RoundedRows& rows) {
  Tensor upper = empty({rows.n});
  const float least = kernels::rounded_rows().bracket(rows, x.data<float>(), data_or_null<float>(bias), top,
                                                      upper.mutable_data<float>());
  return logical_not(lt(upper, least));  // NaN is not below
}

/// The rows of the weight whose product with one of x [m, in] may be among the largest, in order; of several rows, the
/// largest alone.
Tensor candidates_of(const Tensor& x, const Tensor& bias, int64_t top, const kernels::RoundedRows& rows) {
  const int64_t m = x.size(0);
  if (m == 1) return flat_nonzero(marked_for_one(x, bias, top, rows));
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

/// Whether the product is one of f32 whose kernels part_of_linear() has, and something multiplies so many rows in 8
/// bits faster. Words that may be among several of the largest are few for one row, and not for all of some rows, nor
/// where more than half as many are asked for as there are groups, each of which bounds one.
bool may_screen(const Tensor& x, const Tensor& weight, int64_t top, int64_t words) {
  if (x.dtype() != f32 || weight.numel() < kLeastWeight || x.numel() == 0 || Composed::active()) return false;
  if (kernels::precision_in_use(MatmulPrecisionScope::current()) != MatmulPrecision::highest) return false;
  if (top > std::max<int64_t>(1, kernels::RoundedRows{.n = words}.groups() / 2)) return false;
  if (x.numel() == weight.size(1)) return true;
  return top == 1 && kernels::fast_rounded_product() && weight.size(1) <= kernels::kLongestRow;
}

}  // namespace

std::vector<ScreenedRows> screened_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, int64_t top,
                                          int64_t words) {
  const RoundedWeight rounded = may_screen(x, weight, top, words) ? read_rounded(weight) : RoundedWeight();
  if (!rounded.held) return {};
  kernels::RoundedRows first = rounded.rows;
  first.n = words;
  const Tensor rows = reshape(x, {-1, weight.size(1)});
  std::vector<ScreenedRows> found;
  for (const Tensor& part : chunk(rows, (rows.size(0) + kRowsTogether - 1) / kRowsTogether, 0)) {
    const Tensor candidates = candidates_of(part, bias, top, first);
    if (candidates.size(0) > words / kOneIn) return {};
    found.push_back({candidates, part_of_linear(part, index_select(weight, 0, candidates),
                                                bias.defined() ? index_select(bias, 0, candidates) : Tensor())});
  }
  return found;
}

}  // namespace tape
