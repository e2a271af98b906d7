#include <cmath>

#include "autograd/ops/elementwise/compare.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> where_samples() {
  auto condition = [](const Shape& shape) { return gt(sample_normal(shape, 9), 0); };
  auto call = [condition](const Shape& shape) {
    return [c = condition(shape)](const Tensors& in) { return where(c, in[0], in[1]); };
  };
  return std::vector<OpSample>{
      {"same shape", {sample_normal({3, 4}, 1), sample_normal({3, 4}, 2)}, call({3, 4})},
      {"broadcast", {sample_normal({3, 1}, 1), sample_normal({4}, 2)}, call({2, 3, 4})},
      {"condition broadcast", {sample_normal({2, 4}, 1), sample_normal({}, 2)}, call({4})},
  };
}

const OpSamples samples_of_where("where", where_samples);

}  // namespace
}  // namespace tape
