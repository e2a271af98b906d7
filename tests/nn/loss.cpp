#include "autograd/ops/loss/loss.h"

#include "autograd/ops/loss/probability_loss.h"
#include "autograd/ops/loss/regression_loss.h"
#include "tests/nn/torch_case.h"
#include "tests/support/fixtures.h"

namespace tape {
namespace {

using Loss = std::function<Tensor(const Tensor& x, const Tensor& target, Reduction reduction)>;

void expect_loss_as_torch(const std::string& name, const Loss& loss) {
  for (const auto& [word, reduction] :
       {std::pair{"mean", Reduction::mean}, {"sum", Reduction::sum}, {"none", Reduction::none}})
    expect_agrees_with_torch({"losses", name + " " + word}, [&](const Named& in) {
      return Named{{"y", loss(in.at("x"), in.at("target"), reduction)}};
    });
}

TEST(CrossEntropy, AgreesWithTorch) {
  const Tensor weight = fixture_tensors("losses").at("weight");
  struct Setting {
    const char* name;
    int64_t ignore;
    bool weighted;
    double smoothing;
  };
  for (const Setting& s : {Setting{"", -100, false, 0},
                           {" ignore", 3, false, 0},
                           {" weight", -100, true, 0},
                           {" ignore weight", 3, true, 0},
                           {" smoothing", -100, false, 0.1},
                           {" smoothing ignore", 3, false, 0.1},
                           {" smoothing ignore weight", 3, true, 0.2}}) {
    const auto weight_for = [&](const Tensor& x) { return s.weighted ? weight.to(x.dtype()) : Tensor(); };
    expect_loss_as_torch(std::string("cross entropy") + s.name, [&](const Tensor& x, const Tensor& t, Reduction r) {
      return cross_entropy(
          x, t, {.ignore_index = s.ignore, .label_smoothing = s.smoothing, .weight = weight_for(x), .reduction = r});
    });
    if (s.smoothing > 0) continue;
    expect_loss_as_torch(std::string("nll") + s.name, [&](const Tensor& x, const Tensor& t, Reduction r) {
      return nll_loss(x, t, {.ignore_index = s.ignore, .weight = weight_for(x), .reduction = r});
    });
  }
}

TEST(OtherLosses, AgreeWithTorch) {
  expect_loss_as_torch("mse", mse_loss);
  expect_loss_as_torch("l1", l1_loss);
  expect_loss_as_torch("bce", bce_loss);
  expect_loss_as_torch("bce logits", [](const Tensor& x, const Tensor& t, Reduction r) {
    return bce_with_logits_loss(x, t, {.reduction = r});
  });
}

}  // namespace
}  // namespace tape
