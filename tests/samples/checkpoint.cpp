#include "autograd/transforms/checkpoint.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/random.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> checkpoint_samples() {
  const auto block = [](const Tensors& in) {
    generator(Stream::dropout).set_state(3, 0);
    return checkpoint([](const Tensors& x) { return dropout(tanh(matmul(x[0], x[1])), 0.3) * x[0]; }, in);
  };
  const auto captured = [](const Tensors& in) {
    return checkpoint([w = in[1]](const Tensors& x) { return sigmoid(matmul(x[0], w)) * w; }, {in[0]}) * in[0];
  };
  const auto nested = [](const Tensors& in) {
    const auto inner = [](const Tensors& x) { return exp(x[0] * 0.5) * x[0]; };
    return checkpoint([inner](const Tensors& x) { return matmul(checkpoint(inner, {tanh(x[0])}), x[1]); }, in);
  };
  const Tensors square{sample_normal({3, 3}, 1), sample_normal({3, 3}, 2)};
  return std::vector<OpSample>{{"block", square, block}, {"captured", square, captured}, {"nested", square, nested}};
}

const OpSamples samples_of_checkpoint("checkpoint", checkpoint_samples);

}  // namespace
}  // namespace tape
