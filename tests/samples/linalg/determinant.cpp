#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/linalg.h"
#include "autograd/tape/op.h"
#include "tests/samples/linalg/matrices.h"

namespace tape::linalg {
namespace {

std::function<std::vector<OpSample>()> determinant_samples(Tensor (*f)(const Tensor&)) {
  return [f] {
    const auto of = [f](const char* label, const Shape& a) {
      return OpSample{label, {sample_normal(a)}, [f](const Tensors& in) { return f(regular(in[0]) * 0.5); }};
    };
    return std::vector{of("matrix", {3, 3}), of("batch", {2, 1, 2, 2}), of("size 1", {2, 1, 1}),
                       of("empty", {2, 0, 0})};
  };
}

const OpSamples samples_of_det("det", determinant_samples(det));
const OpSamples samples_of_slogdet("slogdet",
                                   determinant_samples([](const Tensor& a) { return slogdet(a).logabsdet; }));

std::vector<OpSample> trace_samples() {
  const auto of = [](const char* label, const Shape& a) {
    return OpSample{label, {sample_normal(a)}, [](const Tensors& in) { return trace(in[0]); }};
  };
  return std::vector{of("square", {3, 3}), of("tall, batch", {2, 3, 2}), of("wide", {2, 4}), of("empty", {2, 0, 3})};
}

const OpSamples samples_of_trace("trace", trace_samples);

}  // namespace
}  // namespace tape::linalg
