#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/tape/op.h"
#include "tests/samples/elementwise/unary_samples.h"

namespace tape {
namespace {

const OpSamples samples_of_neg("neg", unary_samples(neg, -2, 2));
const OpSamples samples_of_abs("abs", kink_samples(abs));

std::vector<OpSample> sign_samples() {
  return std::vector<OpSample>{
      {"times x", {sample_distinct({3})}, [](const Tensors& in) { return in[0] * sign(in[0]); }}};
}

const OpSamples samples_of_sign("sign", sign_samples);
const OpSamples samples_of_square("square", unary_samples(square, -2, 2));
const OpSamples samples_of_reciprocal("reciprocal", unary_samples(reciprocal, 0.5F, 2));
const OpSamples samples_of_exp("exp", unary_samples(exp, -2, 2));
const OpSamples samples_of_log("log", unary_samples(log, 0.5F, 2));
const OpSamples samples_of_sqrt("sqrt", unary_samples(sqrt, 0.5F, 2));
const OpSamples samples_of_rsqrt("rsqrt", unary_samples(rsqrt, 0.5F, 2));
const OpSamples samples_of_sin("sin", unary_samples(sin, -3, 3));
const OpSamples samples_of_cos("cos", unary_samples(cos, -3, 3));
const OpSamples samples_of_tanh("tanh", unary_samples(tanh, -2, 2));
const OpSamples samples_of_sigmoid("sigmoid", unary_samples(sigmoid, -3, 3));
const OpSamples samples_of_erf("erf", unary_samples(erf, -2, 2));
const OpSamples samples_of_relu("relu", kink_samples(relu));
const OpSamples samples_of_gelu("gelu", unary_samples(gelu, -3, 3));
const OpSamples samples_of_gelu_tanh("gelu_tanh", unary_samples(gelu_tanh, -3, 3));
const OpSamples samples_of_silu("silu", unary_samples(silu, -3, 3));

std::vector<OpSample> clamp_samples() {
  return std::vector<OpSample>{
      {"both sides", {sample_distinct({3, 4})}, [](const Tensors& in) { return clamp(in[0], -0.5, 0.7); }}};
}

const OpSamples samples_of_clamp("clamp", clamp_samples);

}  // namespace
}  // namespace tape
