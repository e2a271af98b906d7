#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/index/scatter.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

Tensor places(std::initializer_list<Values> values) { return tensor(values, i64); }

std::vector<OpSample> scatter_samples() {
  auto at = [](int64_t axis, Tensor index) {
    return [=](const Tensors& in) { return scatter(in[0], axis, index, in[1]); };
  };
  return std::vector<OpSample>{
      {"columns", {sample_normal({2, 4}, 1), sample_normal({2, 2}, 2)}, at(1, places({{2, 0}, {-1, 1}}))},
      {"rows, repeated", {sample_normal({3, 2}, 1), sample_normal({3, 2}, 2)}, at(0, places({{2, 0}, {1, 0}, {2, 1}}))},
      {"none", {sample_normal({2, 3}, 1), zeros({2, 0}, f64)}, at(1, zeros({2, 0}, i64))}};
}

const OpSamples samples_of_scatter("scatter", scatter_samples);

std::vector<OpSample> index_copy_samples() {
  auto at = [](int64_t axis, Tensor index) {
    return [=](const Tensors& in) { return index_copy(in[0], axis, index, in[1]); };
  };
  return std::vector<OpSample>{
      {"rows", {sample_normal({3, 2}, 1), sample_normal({2, 2}, 2)}, at(0, places({2, 0}))},
      {"middle, repeated", {sample_normal({2, 3, 2}, 1), sample_normal({2, 3, 2}, 2)}, at(1, places({1, -1, 1}))}};
}

const OpSamples samples_of_index_copy("index_copy", index_copy_samples);

std::vector<OpSample> scatter_reduce_samples() {
  auto by = [](Reduce reduce, bool include_self) {
    return [=](const Tensors& in) {
      return scatter_reduce(in[0], 1, places({{2, 0, 2, 2}, {1, 1, 0, -1}}), in[1], reduce,
                            {.include_self = include_self});
    };
  };
  const Tensor all = sample_distinct({14});
  const Tensor x = reshape(slice(all, 0, {.end = 6}), {2, 3}), source = reshape(slice(all, 0, {.start = 6}), {2, 4});
  return std::vector<OpSample>{{"product", {x, source}, by(Reduce::prod, true)},
                               {"product of the source", {x, source}, by(Reduce::prod, false)},
                               {"maximum", {x, source}, by(Reduce::amax, true)},
                               {"minimum", {x, source}, by(Reduce::amin, true)},
                               {"minimum of the source", {x, source}, by(Reduce::amin, false)}};
}

const OpSamples samples_of_scatter_reduce("scatter_reduce", scatter_reduce_samples);

}  // namespace
}  // namespace tape
