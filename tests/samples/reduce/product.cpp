#include "autograd/ops/reduce/product.h"
#include "autograd/create.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> prod_samples() {
  auto over = [](const Axes& axes, Dims dims) { return [=](const Tensors& in) { return prod(in[0], axes, dims); }; };
  const Tensor zeros = tensor({{0, 2, -1.5}, {0.5, 0, 3}, {0, 0, 1}, {1, 2, 3}}, f64);
  return std::vector<OpSample>{{"all", {sample_normal({2, 3})}, over({}, Dims::drop)},
                               {"last", {sample_normal({2, 3, 4})}, over(-1, Dims::keep)},
                               {"middle", {sample_normal({2, 3, 4})}, over(1, Dims::drop)},
                               {"separate axes", {sample_normal({2, 3, 2})}, over({0, 2}, Dims::keep)},
                               {"zeros, rows", {zeros}, over(1, Dims::drop)},
                               {"zeros, columns", {zeros}, over(0, Dims::drop)},
                               {"rank 0", {sample_normal({})}, over({}, Dims::drop)},
                               {"size 1", {sample_normal({1, 3})}, over(0, Dims::drop)}};
}

const OpSamples samples_of_prod("prod", prod_samples);

}  // namespace
}  // namespace tape
