#include "autograd/ops/shape/join.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> cat_samples() {
  auto along = [](int64_t axis) { return [axis](const Tensors& in) { return cat(in, axis); }; };
  const Tensor a = sample_normal({2, 3}, 1), b = sample_normal({2, 1}, 2), c = sample_normal({2, 3}, 3);
  return std::vector<OpSample>{{"rows", {a, c}, along(0)},
                               {"columns", {a, b, c}, along(-1)},
                               {"middle", {sample_normal({2, 1, 2}, 4), sample_normal({2, 2, 2}, 5)}, along(1)},
                               {"one input", {a}, along(1)},
                               {"aliased",
                                {a},
                                [](const Tensors& in) {
                                  return cat({in[0], in[0] * in[0]}, 1);
                                }},
                               {"one empty input", {a, sample_normal({2, 0}, 6)}, along(1)}};
}

const OpSamples samples_of_cat("cat", cat_samples);

std::vector<OpSample> split_samples() {
  auto product = [](int64_t axis) {
    return [axis](const Tensors& in) {
      const Tensors pieces = split(in[0], 2, axis);
      return pieces[0] * pieces[1] + pieces[1];
    };
  };
  return std::vector<OpSample>{{"views", {sample_normal({4, 3})}, product(0)},
                               {"columns", {sample_normal({3, 4})}, product(-1)},
                               {"middle", {sample_normal({2, 4, 2})}, product(1)},
                               {"unused piece", {sample_normal({2, 5})}, [](const Tensors& in) {
                                  return split(in[0], {1, 3, 1}, 1)[1];
                                }}};
}

const OpSamples samples_of_split("split", split_samples);

std::vector<OpSample> put_slice_samples() {
  auto at = [](int64_t axis, int64_t start) {
    return [=](const Tensors& in) { return put_slice(in[0], axis, start, in[1]); };
  };
  return std::vector<OpSample>{{"rows", {sample_normal({4, 2}, 1), sample_normal({2, 2}, 2)}, at(0, 1)},
                               {"middle", {sample_normal({2, 3, 2}, 1), sample_normal({2, 1, 2}, 2)}, at(1, 2)},
                               {"empty part", {sample_normal({2, 3}, 1), sample_normal({2, 0}, 2)}, at(-1, 3)},
                               {"aliased", {sample_normal({2, 2})}, [](const Tensors& in) {
                                  return put_slice(in[0], 0, 0, in[0] * in[0]) + in[0];
                                }}};
}

const OpSamples samples_of_put_slice("put_slice", put_slice_samples);

std::vector<OpSample> roll_samples() {
  auto by = [](int64_t shift, int64_t axis) { return [=](const Tensors& in) { return roll(in[0], shift, axis); }; };
  return std::vector<OpSample>{{"rows", {sample_normal({3, 2})}, by(1, 0)},
                               {"columns", {sample_normal({2, 4})}, by(-1, -1)},
                               {"middle", {sample_normal({2, 3, 2})}, by(5, 1)}};
}

const OpSamples samples_of_roll("roll", roll_samples);

}  // namespace
}  // namespace tape
