#include "autograd/ops/elementwise/exponential.h"
#include "autograd/tape/op.h"
#include "tests/samples/elementwise/unary_samples.h"

namespace tape {
namespace {

const OpSamples samples_of_expm1("expm1", unary_samples(expm1, -2, 2));
const OpSamples samples_of_log1p("log1p", unary_samples(log1p, -0.5F, 2));
const OpSamples samples_of_exp2("exp2", unary_samples(exp2, -2, 2));
const OpSamples samples_of_log2("log2", unary_samples(log2, 0.5F, 2));
const OpSamples samples_of_log10("log10", unary_samples(log10, 0.5F, 2));
const OpSamples samples_of_sinh("sinh", unary_samples(sinh, -2, 2));
const OpSamples samples_of_cosh("cosh", unary_samples(cosh, -2, 2));
const OpSamples samples_of_atanh("atanh", unary_samples(atanh, -0.8F, 0.8F));

}  // namespace
}  // namespace tape
