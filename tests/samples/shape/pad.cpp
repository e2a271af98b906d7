#include "autograd/ops/shape/pad.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> pad_samples() {
  auto by = [](std::vector<Padding> amounts, double value) {
    return [=](const Tensors& in) { return pad(in[0], amounts, value); };
  };
  return std::vector<OpSample>{{"last axis", {sample_normal({2, 3})}, by({{1, 2}}, 0)},
                               {"two axes", {sample_normal({2, 3, 2})}, by({{0, 1}, {2, 0}}, -1.5)},
                               {"every axis", {sample_normal({2, 2})}, by({{1, 1}, {1, 1}}, 3)},
                               {"no padding", {sample_normal({3})}, by({{0, 0}}, 0)},
                               {"empty input", {sample_normal({2, 0})}, by({{1, 1}}, 2)}};
}

const OpSamples samples_of_pad("pad", pad_samples);

std::vector<OpSample> flip_samples() {
  auto along = [](Axes axes) { return [axes](const Tensors& in) { return flip(in[0], axes) * in[0]; }; };
  return std::vector<OpSample>{{"rows", {sample_normal({3, 2})}, along(0)},
                               {"two axes", {sample_normal({2, 3, 2})}, along({0, -1})},
                               {"every axis", {sample_normal({2, 3})}, along({})},
                               {"empty", {sample_normal({0, 2})}, along(1)}};
}

const OpSamples samples_of_flip("flip", flip_samples);

std::function<std::vector<OpSample>()> triangle_samples(Tensor (*f)(const Tensor&, int64_t)) {
  return [f] {
    auto at = [f](int64_t diagonal) { return [=](const Tensors& in) { return f(in[0], diagonal) * in[0]; }; };
    return std::vector<OpSample>{{"square", {sample_normal({3, 3})}, at(0)},
                                 {"wide batch", {sample_normal({2, 2, 4})}, at(1)},
                                 {"tall", {sample_normal({4, 2})}, at(-1)},
                                 {"empty", {sample_normal({0, 2})}, at(0)}};
  };
}

const OpSamples samples_of_tril("tril", triangle_samples(tril));
const OpSamples samples_of_triu("triu", triangle_samples(triu));

}  // namespace
}  // namespace tape
