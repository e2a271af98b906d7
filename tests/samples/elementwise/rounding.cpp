#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/rounding.h"
#include "autograd/tape/op.h"
#include "tests/samples/elementwise/unary_samples.h"

namespace tape {
namespace {

/// Samples of step functions times x, since their gradient is zero; `shift` moves a step to x = 0.
OpSamples::Samples step_samples(UnaryFunction f, double shift) {
  return [=] {
    auto call = [=](const Tensors& in) { return in[0] * f(in[0] + shift); };
    return std::vector<OpSample>{{"times x", {sample_distinct({3, 4})}, call}};
  };
}

std::vector<OpSample> round_samples() {
  auto samples = step_samples(round, 0.5)();
  const auto decimals = [](const Tensors& in) { return in[0] * round(in[0] + 0.5, -1) + in[0] * round(in[0], 1); };
  samples.push_back({"decimals", {sample_uniform({3, 4}, 0.11, 0.14)}, decimals});
  return samples;
}

const OpSamples samples_of_round("round", round_samples);
const OpSamples samples_of_floor("floor", step_samples(floor, 0));
const OpSamples samples_of_ceil("ceil", step_samples(ceil, 0));
const OpSamples samples_of_trunc("trunc", step_samples(trunc, 1));
const OpSamples samples_of_frac("frac", step_samples(frac, 1));

std::vector<OpSample> remainder_samples() {
  auto call = [](const Tensors& in) { return remainder(in[0], in[1]); };
  // Away from multiples of the divisor, where the remainder jumps.
  const Tensor a = tensor({{-2.3, 0.7, 5.2}, {3.6, -4.1, 1.1}}, f64),
               b = tensor({{0.9, 2.0, 1.5}, {-1.3, 2.4, -3}}, f64);
  return std::vector<OpSample>{{"same shape", {a, b}, call},
                               {"rows", {a, tensor({0.75, 1.6, -2.2}, f64)}, call},
                               {"empty", {sample_normal({0, 3}, 1), sample_normal({1, 3}, 2)}, call}};
}

const OpSamples samples_of_remainder("remainder", remainder_samples);

}  // namespace
}  // namespace tape
