#include "autograd/ops/elementwise/trigonometry.h"
#include "autograd/tape/op.h"
#include "tests/samples/elementwise/unary_samples.h"

namespace tape {
namespace {

const OpSamples samples_of_tan("tan", unary_samples(tan, -1, 1));
const OpSamples samples_of_asin("asin", unary_samples(asin, -0.8F, 0.8F));
const OpSamples samples_of_acos("acos", unary_samples(acos, -0.8F, 0.8F));
const OpSamples samples_of_atan("atan", unary_samples(atan, -3, 3));

std::vector<OpSample> atan2_samples() {
  auto call = [](const Tensors& in) { return atan2(in[0], in[1]); };
  return std::vector<OpSample>{
      {"upper half", {sample_uniform({2, 3}, 0.5, 2, 1), sample_uniform({2, 3}, -2, 2, 2)}, call},
      {"lower half, rows", {sample_uniform({2, 3}, -2, -0.5, 1), sample_uniform({3}, -2, 2, 2)}, call},
      {"rank 0", {sample_uniform({}, 0.5, 2, 1), sample_uniform({2, 1, 2}, 0.5, 2, 2)}, call},
      {"empty", {sample_uniform({0, 3}, 0.5, 2, 1), sample_uniform({1, 3}, 0.5, 2, 2)}, call}};
}

const OpSamples samples_of_atan2("atan2", atan2_samples);

}  // namespace
}  // namespace tape
