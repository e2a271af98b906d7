#include "autograd/distributions.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "autograd/normal_quantile.h"
#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/index/order.h"
#include "autograd/ops/index/positions.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/random_call.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

/// Returns the number of weights above 0 of each row. Runs row by row, so that the error names the first invalid one.
std::vector<int64_t> count_weights(const Tensor& rows, const Tensor& weights) {
  const std::vector<double> values = rows.to_vector<double>();
  std::vector<int64_t> counts;
  for (int64_t row = 0; row < rows.size(0); ++row) {
    int64_t count = 0;
    double total = 0;
    for (int64_t i = row * rows.size(1); i < (row + 1) * rows.size(1); ++i) {
      const double weight = values[static_cast<size_t>(i)];
      if (!(weight >= 0) || std::isinf(weight))
        raise(ErrorKind::numeric, "multinomial: weight {} at position {} is negative or not finite", weight,
              position_text(weights.shape(), i));
      count += weight > 0;
      total += weight;
    }
    if (count == 0) raise(ErrorKind::numeric, "multinomial: the weights of row {} are all 0", row);
    if (std::isinf(total)) raise(ErrorKind::numeric, "multinomial: the weights of row {} sum to infinity", row);
    counts.push_back(count);
  }
  return counts;
}

Tensor with_replacement(const Tensor& rows, int64_t count, Generator& stream) {
  const Shape shape{rows.size(0), count};
  const auto categories = static_cast<size_t>(rows.size(1));
  const std::vector<double> weights = rows.to_vector<double>(),
                            uniform = rand(shape, {f64, cpu}, stream).to_vector<double>();
  std::vector<int64_t> drawn;
  for (size_t row = 0; row * categories < weights.size(); ++row) {
    const CategoricalSampler among(std::span<const double>(weights).subspan(row * categories, categories));
    for (int64_t i = 0; i < count; ++i) drawn.push_back(among.at(uniform[drawn.size()]));
  }
  return from_vector(drawn, shape, {i64, cpu});
}

void check_probabilities(const Tensor& p) {
  const NoGrad no_grad;
  check_none(ErrorKind::numeric, "bernoulli", logical_not(logical_and(ge(p, 0), le(p, 1))),
             [p = p.detach()](int64_t position) {
               return fmt::format("probability {} at position {} is outside [0, 1]",
                                  reshape(p, {p.numel()})[position].item(), position_text(p.shape(), position));
             });
}

}  // namespace

Tensor bernoulli(const Tensor& p, Generator& stream) {
  check_floating("bernoulli", p);
  check_probabilities(p);
  Tensor y = empty_like(p);
  const uint64_t counter = stream.advance(p.numel());
  run_kernels("bernoulli", p.device(), [&](const KernelCall& at) {
    dispatch_floating("bernoulli", p.dtype(), [&]<class T>(T) {
      kernels::random<T>(at).bernoulli(p.numel(), stream.seed(), counter, at.in<T>(p), at.out<T>(y));
    });
  });
  return y;
}

Tensor exponential(const Shape& shape, double rate, const TensorOptions& options, Generator& stream) {
  if (!(rate > 0) || std::isinf(rate))
    raise(ErrorKind::config, "exponential: rate must be above 0 and finite, got {}", rate);
  Tensor y = empty(shape, options);
  fill_by_kernel("exponential", y, stream,
                 [rate](const auto& table, int64_t n, uint64_t seed, uint64_t counter, auto* values) {
                   table.exponential(n, seed, counter, rate, values);
                 });
  return y;
}

Tensor gumbel(const Shape& shape, const TensorOptions& options, Generator& stream) {
  Tensor y = empty(shape, options);
  fill_by_kernel("gumbel", y, stream, [](const auto& table, int64_t n, uint64_t seed, uint64_t counter, auto* values) {
    table.gumbel(n, seed, counter, values);
  });
  return y;
}

Tensor truncated_normal(const Shape& shape, const TruncatedNormalOptions& options, const TensorOptions& made,
                        Generator& stream) {
  const double mean = options.mean, stddev = options.stddev, low = options.low, high = options.high;
  if (!std::isfinite(mean) || !(stddev > 0) || std::isinf(stddev) || !(low < high))
    raise(ErrorKind::config, "truncated_normal: needs a finite mean, stddev > 0 and low < high, got {}, {}, {} and {}",
          mean, stddev, low, high);
  // Probabilities in the upper half are close to 1 and lose precision, so such an interval is mirrored.
  const bool mirrored = low > mean;
  const double from = (mirrored ? mean - high : low - mean) / stddev;
  const double to = (mirrored ? mean - low : high - mean) / stddev;
  const double first = normal_cdf(from), width = normal_cdf(to) - first;
  if (!(width > 0))
    raise(ErrorKind::config, "truncated_normal: [{}, {}] has no probability mass this far from mean {} (stddev {})",
          low, high, mean, stddev);
  Tensor y;
  dispatch_floating("truncated_normal", made.dtype, [&]<class T>(T) {
    std::vector<T> values(static_cast<size_t>(shape.numel()));
    for (T& drawn : values) {
      const double p = first + width * stream.uniform();
      const double z = p > 0 && p < 1 ? normal_quantile(p) : from;  // 0 and 1 occur only at the ends
      const double value = mean + stddev * (mirrored ? -z : z);
      drawn = std::clamp(static_cast<T>(value), static_cast<T>(low), static_cast<T>(high));
    }
    y = from_vector(values, shape, made);
  });
  return y;
}

Tensor multinomial(const Tensor& weights, int64_t count, const MultinomialOptions& options, Generator& stream) {
  check_floating("multinomial", weights);
  if (weights.rank() < 1 || weights.rank() > 2)
    raise(ErrorKind::shape, "multinomial: weights must be [V] or [B, V], got {}", to_string(weights.shape()));
  if (count < 1) raise(ErrorKind::config, "multinomial: count must be at least 1, got {}", count);
  const NoGrad no_grad;
  const Tensor wide = weights.detach().to({f64, cpu}), rows = weights.rank() == 1 ? unsqueeze(wide, 0) : wide;
  const std::vector<int64_t> above_zero = count_weights(rows, weights);
  Tensor drawn;
  if (options.replacement) {
    drawn = with_replacement(rows, count, stream);
  } else {
    for (size_t row = 0; row < above_zero.size(); ++row)
      if (above_zero[row] < count)
        raise(ErrorKind::config, "multinomial: {} draws without replacement from row {}, which has {} weights above 0",
              count, row, above_zero[row]);
    drawn = topk(exponential(rows.shape(), 1, {f64, cpu}, stream) / rows, count, -1, {.largest = false}).indices;
  }
  return (weights.rank() == 1 ? squeeze(drawn, 0) : drawn).to(weights.device());
}

CategoricalSampler::CategoricalSampler(std::span<const double> weights) {
  ends_.reserve(weights.size());
  double sum = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    ends_.push_back(sum += weights[i]);
    if (weights[i] > 0) last_ = static_cast<int64_t>(i);
  }
}

int64_t CategoricalSampler::at(double uniform) const {
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), uniform * ends_.back());
  return std::min<int64_t>(found - ends_.begin(), last_);  // rounding may lead past the end
}

}  // namespace tape
