#include "autograd/ops/linear_max.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "autograd/create.h"
#include "autograd/kernels/bf16_road.h"
#include "autograd/kernels/gemm.h"
#include "autograd/kernels/reduce.h"
#include "autograd/ops/cast.h"
#include "autograd/ops/check.h"
#include "autograd/ops/data_or_null.h"
#include "autograd/ops/index.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/packed_weight.h"
#include "autograd/ops/reduce.h"
#include "autograd/ops/shape.h"
#include "autograd/tape/scope.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

/// A smaller weight lies in the caches. More rows that may be the largest than kMostCandidates are no gain.
constexpr int64_t kLeastWeight = 1 << 18, kMostCandidates = 512;

TopK composed(const Tensor& x, const Tensor& weight, const Tensor& bias) { return max_at(linear(x, weight, bias)); }

/// A number that is not below the norm.
float norm_above(const Tensor& x) {
  const double norm = std::sqrt(kernels::reduce<float>().sum_of_squares(x.numel(), x.data<float>()));
  return static_cast<float>(norm * (1 + 1e-6));
}

/// The rows of the weight whose product with x may be the largest, in order; too many are nothing.
std::vector<int64_t> candidates_of(const Tensor& x, const Tensor& bias, const kernels::RoundedRows& rows) {
  const float norm = norm_above(x);
  if (!std::isfinite(norm)) return {};
  const Tensor padded = zeros({rows.stride()}), upper = empty({rows.n});
  std::copy_n(x.data<float>(), rows.k, static_cast<float*>(padded.raw()));
  const float least = kernels::rounded_rows().bracket(rows, padded.data<float>(), norm, data_or_null<float>(bias),
                                                      static_cast<float*>(upper.raw()));
  std::vector<int64_t> found;
  for (int64_t i = 0; i < rows.n; ++i) {
    if (upper.data<float>()[i] < least) continue;  // NaN is not
    found.push_back(i);
    if (std::ssize(found) > kMostCandidates) return {};
  }
  return found;
}

/// The product of x and the rows [candidates], each by itself: the bits of the whole product, whose values for so few
/// rows of x are dot products.
std::vector<float> products_of(const Tensor& x, const Tensor& weight, const Tensor& bias,
                               const std::vector<int64_t>& candidates) {
  const int64_t in = weight.size(1);
  const kernels::Gemm product{.transpose_b = true, .m = 1, .n = 1, .k = in, .lda = in, .ldb = in, .ldc = 1};
  std::vector<float> values;
  for (const int64_t row : candidates) {
    const float* const its_bias = bias.defined() ? bias.data<float>() + row : nullptr;
    values.push_back(0);
    kernels::gemm(product, x.data<float>(), weight.data<float>() + row * in, &values.back(), its_bias);
  }
  return values;
}

/// Whether the product is one row of f32 that no other kernel computes than products_of() has.
bool may_screen(const Tensor& x, const Tensor& weight) {
  return x.dtype() == f32 && weight.numel() >= kLeastWeight && x.numel() == weight.size(1) && !Composed::active() &&
         kernels::precision_in_use(MatmulPrecisionScope::current()) == MatmulPrecision::highest;
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
  const std::vector<int64_t> candidates = candidates_of(x, bias, rounded.rows);
  if (candidates.empty()) return composed(x, weight, bias);
  observe_use({x, weight, bias});
  const TopK best = max_at(from_vector(products_of(x, weight, bias, candidates)));
  const Shape one = x.shape().with(x.rank() - 1, 1);
  return {reshape(best.values, one), full(one, candidates[static_cast<size_t>(best.indices.item<int64_t>())], i64)};
}

}  // namespace tape
