#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/probability_loss.h"
#include "autograd/tape/op.h"

namespace tape {
namespace {

std::vector<OpSample> bce_loss_samples() {
  const auto of = [](const char* label, Reduction reduction) {
    return OpSample{label, {sample_normal({2, 3}, 1), sample_uniform({2, 3}, 0, 1, 2)}, [reduction](const Tensors& in) {
                      return bce_loss(sigmoid(in[0]), in[1], reduction);
                    }};
  };
  return std::vector{of("mean", Reduction::mean), of("sum", Reduction::sum), of("no reduction", Reduction::none)};
}

const OpSamples samples_of_bce_loss("bce_loss", bce_loss_samples);

std::vector<OpSample> bce_with_logits_loss_samples() {
  const auto of = [](const char* label, const BceWithLogitsOptions& options) {
    return OpSample{label, {sample_normal({2, 3}, 1), sample_uniform({2, 3}, 0, 1, 2)}, [options](const Tensors& in) {
                      return bce_with_logits_loss(in[0], in[1], options);
                    }};
  };
  const Tensor classes = sample_uniform({3}, 0.5, 2, 3), rows = sample_uniform({2, 1}, 0.5, 2, 4);
  return std::vector{of("mean", {}), of("sum", {.reduction = Reduction::sum}),
                     of("pos_weight, no reduction", {.pos_weight = classes, .reduction = Reduction::none}),
                     of("both weights", {.weight = rows, .pos_weight = classes})};
}

const OpSamples samples_of_bce_with_logits_loss("bce_with_logits_loss", bce_with_logits_loss_samples);

std::vector<OpSample> kl_div_samples() {
  const auto of = [](const char* label, const KlDivOptions& options) {
    const Tensor t = options.log_target ? sample_normal({2, 3}, 2) : sample_uniform({2, 3}, 0.1, 1, 2);
    return OpSample{label, {sample_normal({2, 3}, 1), t}, [options](const Tensors& in) {
                      // Away from 0, where the slope is infinite.
                      const Tensor target = options.log_target ? in[1] : square(in[1]) + 0.2;
                      return kl_div(in[0], target, options);
                    }};
  };
  return std::vector{of("mean", {}), of("rows", {.reduction = KlReduction::batchmean}),
                     of("no reduction, log target", {.log_target = true, .reduction = KlReduction::none}),
                     of("sum, log target", {.log_target = true, .reduction = KlReduction::sum})};
}

const OpSamples samples_of_kl_div("kl_div", kl_div_samples);

}  // namespace
}  // namespace tape
