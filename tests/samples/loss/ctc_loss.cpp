#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/loss/ctc_loss.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> ctc_loss_samples() {
  const auto of = [](const char* label, const Shape& shape, const Tensor& targets, const Tensor& frames,
                     const Tensor& labels, const CtcOptions& options) {
    return OpSample{label, {sample_normal(shape)}, [=](const Tensors& in) {
                      return ctc_loss(in[0], targets, frames, labels, options);
                    }};
  };
  const Tensor targets = tensor({{1, 2, 1}, {2, 2, 0}}, i64);
  return std::vector{of("mean", {5, 2, 3}, targets, tensor({5, 4}, i64), tensor({3, 2}, i64), {}),
                     of("no reduction, zero_infinity", {4, 3, 3}, tensor({1, 2, 1, 1}, i64), tensor({4, 2, 3}, i64),
                        tensor({2, 2, 0}, i64), {.reduction = Reduction::none, .zero_infinity = true}),
                     of("one sequence, another blank", {4, 3}, tensor({0, 1}, i64), tensor({4}, i64), tensor({2}, i64),
                        {.blank = 2, .reduction = Reduction::sum})};
}

const OpSamples samples_of_ctc_loss("ctc_loss", ctc_loss_samples);

}  // namespace
}  // namespace tape
