#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::function<std::vector<OpSample>()> samples(Tensor (*f)(const Tensor&, int64_t)) {
  return [f] {
    const auto along = [f](const char* label, const Shape& shape, int64_t axis) {
      return OpSample{label, {sample_normal(shape)}, [=](const Tensors& in) { return f(in[0], axis); }};
    };
    std::vector<OpSample> all{along("last", {2, 3, 5}, -1), along("first", {4, 3}, 0), along("middle", {2, 4, 3}, 1),
                              along("one value", {2, 1}, -1), along("empty", {0, 3}, -1)};
    all[3].zero_gradient = true;
    // The masked value has no influence, so its gradient is zero; the others are unaffected.
    all.push_back({"masked by -inf", {sample_normal({3, 4})}, [f](const Tensors& in) {
                     const Tensor hidden = gt(arange(4), 2);
                     return masked_fill(f(masked_fill(in[0], hidden, -INFINITY), -1), hidden, 0);
                   }});
    return all;
  };
}

const OpSamples samples_of_softmax("softmax", samples(softmax));
const OpSamples samples_of_log_softmax("log_softmax", samples(log_softmax));

}  // namespace
}  // namespace tape
