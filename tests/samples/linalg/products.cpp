#include "autograd/ops/linalg.h"
#include "autograd/tape/op.h"

namespace tape::linalg {
namespace {

template <class F>
OpSample pair_sample(const char* label, const Shape& a, const Shape& b, const F& f) {
  return OpSample{
      label, {sample_normal(a, 3), sample_normal(b, 4)}, [f](const Tensors& in) { return f(in[0], in[1]); }};
}

std::vector<OpSample> kron_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b) { return pair_sample(label, a, b, kron); };
  return std::vector{of("matrices", {2, 3}, {3, 2}), of("vectors", {3}, {2}), of("fewer axes", {2, 2, 2}, {2, 3}),
                     of("scalar", {}, {2, 2}), of("empty", {2, 0}, {2, 2})};
}

const OpSamples samples_of_kron("kron", kron_samples);

std::vector<OpSample> cross_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b, int64_t axis = -1) {
    return pair_sample(label, a, b, [axis](const Tensor& x, const Tensor& y) { return cross(x, y, axis); });
  };
  return std::vector{of("vectors", {3}, {3}), of("rows", {2, 3}, {3}), of("columns", {3, 2}, {3, 2}, 0),
                     of("empty", {0, 3}, {0, 3})};
}

const OpSamples samples_of_cross("cross", cross_samples);

std::vector<OpSample> outer_samples() {
  const auto of = [](const char* label, const Shape& a, const Shape& b) { return pair_sample(label, a, b, outer); };
  return std::vector{of("vectors", {3}, {2}), of("batch", {2, 3}, {2, 2}), of("shared right", {2, 3}, {4}),
                     of("empty", {0}, {2})};
}

const OpSamples samples_of_outer("outer", outer_samples);

}  // namespace
}  // namespace tape::linalg
