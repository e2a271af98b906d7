#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/regression_loss.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// Pairs that differ by less than `limit`, by more, and both; none close to it.
template <class Call>
std::vector<OpSample> pair_samples(double limit, const Call& call) {
  const Tensor t = sample_normal({2, 3}, 3), none = sample_normal({0, 2});
  const Tensor near = t + sample_uniform({2, 3}, 0.1 * limit, 0.8 * limit, 4);
  const Tensor far = t - sample_uniform({2, 3}, 1.2 * limit, 3 * limit, 5);
  const Tensor both = where(gt(t, 0), near, far);
  const auto with = [call](Reduction r) { return [=](const Tensors& in) { return call(in[0], in[1], r); }; };
  return std::vector<OpSample>{{"small differences, mean", {near, t}, with(Reduction::mean)},
                               {"large differences, no reduction", {far, t}, with(Reduction::none)},
                               {"both, sum", {both, t}, with(Reduction::sum)},
                               {"empty", {none, none}, with(Reduction::sum)}};
}

const OpSamples samples_of_smooth_l1_loss("smooth_l1_loss", [] {
  return pair_samples(0.7, [](const Tensor& x, const Tensor& t, Reduction r) {
    return smooth_l1_loss(x, t, {.beta = 0.7, .reduction = r});
  });
});

const OpSamples samples_of_huber_loss("huber_loss", [] {
  return pair_samples(1.5, [](const Tensor& x, const Tensor& t, Reduction r) {
    return huber_loss(x, t, {.delta = 1.5, .reduction = r});
  });
});

std::vector<OpSample> gaussian_nll_loss_samples() {
  const auto of = [](const char* label, const Shape& variances, const GaussianNllOptions& options) {
    // Keeps the variance away from its lower bound for any input.
    return OpSample{
        label,
        {sample_normal({2, 3}, 1), sample_normal({2, 3}, 2), sample_normal(variances, 3)},
        [options](const Tensors& in) { return gaussian_nll_loss(in[0], in[1], square(in[2]) + 0.3, options); }};
  };
  return std::vector{of("variance per value, mean", {2, 3}, {}),
                     of("variance per row, full, no reduction", {2, 1}, {.full = true, .reduction = Reduction::none}),
                     of("variance without the last axis, sum", {2}, {.reduction = Reduction::sum})};
}

const OpSamples samples_of_gaussian_nll_loss("gaussian_nll_loss", gaussian_nll_loss_samples);

}  // namespace
}  // namespace tape
