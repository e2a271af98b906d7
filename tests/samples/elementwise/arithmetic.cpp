#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

/// Samples of f(a, b): same shape, both ways of broadcasting, one operand twice, empty operands.
template <class F>
std::function<std::vector<OpSample>()> samples(F f, Tensor (*values)(const Shape&, uint64_t)) {
  return [=] {
    auto call = [f](const Tensors& in) { return f(in[0], in[1]); };
    return std::vector<OpSample>{
        {"same shape", {values({2, 3}, 1), values({2, 3}, 2)}, call},
        {"rows", {values({2, 3}, 1), values({3}, 2)}, call},
        {"outer", {values({4, 1}, 1), values({1, 3}, 2)}, call},
        {"rank 0", {values({}, 1), values({2, 1, 2}, 2)}, call},
        {"aliased", {values({3}, 1)}, [f](const Tensors& in) { return f(in[0], in[0]) + in[0]; }},
        {"empty", {values({0, 3}, 1), values({1, 3}, 2)}, call}};
  };
}

Tensor normal_values(const Shape& shape, uint64_t seed) { return sample_normal(shape, seed); }

Tensor positive_values(const Shape& shape, uint64_t seed) { return sample_uniform(shape, 0.5, 2, seed); }

Tensor distinct_values(const Shape& shape, uint64_t seed) {
  Tensor x = sample_distinct(shape, seed);
  return seed == 1 ? x : x + 0.1;
}

const OpSamples samples_of_add("add", samples([](auto& a, auto& b) { return add(a, b); }, normal_values));
const OpSamples samples_of_sub("sub", samples([](auto& a, auto& b) { return sub(a, b) * a; }, normal_values));
const OpSamples samples_of_mul("mul", samples([](auto& a, auto& b) { return mul(a, b); }, normal_values));
const OpSamples samples_of_div("div", samples([](auto& a, auto& b) { return div(a, b) * a; }, positive_values));
const OpSamples samples_of_pow("pow", samples([](auto& a, auto& b) { return pow(a, b); }, positive_values));
const OpSamples samples_of_maximum("maximum", samples([](auto& a, auto& b) { return maximum(a, b); }, distinct_values));
const OpSamples samples_of_minimum("minimum", samples([](auto& a, auto& b) { return minimum(a, b); }, distinct_values));

std::vector<OpSample> lerp_samples() {
  auto call = [](const Tensors& in) { return lerp(in[0], in[1], in[2]); };
  auto by = [](double weight) { return [weight](const Tensors& in) { return lerp(in[0], in[1], weight); }; };
  const Tensor a = sample_normal({2, 3}, 1), b = sample_normal({2, 3}, 2);
  return std::vector<OpSample>{{"same shape", {a, b, sample_uniform({2, 3}, 0, 1, 3)}, call},
                               {"broadcast", {a, sample_normal({3}, 2), sample_uniform({2, 1}, 0, 1, 3)}, call},
                               {"scalar weight", {a, b}, by(0.3)},
                               {"scalar weight above 1", {sample_normal({3}), b}, by(1.4)},
                               {"empty", {sample_normal({0}), sample_normal({1})}, by(0.5)}};
}

const OpSamples samples_of_lerp("lerp", lerp_samples);

std::vector<OpSample> affine_samples() {
  return std::vector<OpSample>{
      {"scale and shift", {sample_normal({2, 3})}, [](const Tensors& in) { return affine(in[0], -2.5, 3); }},
      {"empty", {sample_normal({0})}, [](const Tensors& in) { return affine(in[0], -2.5, 3); }}};
}

const OpSamples samples_of_affine("affine", affine_samples);

std::vector<OpSample> pow_scalar_samples() {
  std::vector<OpSample> samples;
  for (double n : {0.5, 2.0, 3.0, -1.0, -0.5, 1.7})
    samples.push_back({fmt::format("exponent {}", n), {sample_uniform({2, 3}, 0.5, 2)}, [n](const Tensors& in) {
                         return pow(in[0], n);
                       }});
  return samples;
}

const OpSamples samples_of_pow_scalar("pow_scalar", pow_scalar_samples);

}  // namespace
}  // namespace tape
