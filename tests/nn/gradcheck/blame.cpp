// Searches every layer and model of the registry for guilty operations. Their gradients are right, so it must find
// none.

#include "autograd/gradcheck/blame.h"

#include <gmock/gmock.h>

#include "autograd/random.h"
#include "nn/gradcheck/check.h"

namespace tape::nn {
namespace {

/// Searches a module in f64 whose gradients are all right.
tape::detail::Verdict search(Module& module, const std::function<Tensor(const Tensors&)>& forward,
                             const Tensors& inputs) {
  module.to(f64);
  Tensors leaves;
  std::vector<NamedTensor> variables = module.named_parameters();
  std::erase_if(variables, [](const NamedTensor& parameter) { return !parameter.tensor.requires_grad(); });
  for (const Tensor& input : inputs) {
    leaves.push_back(input);
    if (!input.defined() || !is_floating(input.dtype())) continue;
    leaves.back() = input.detach().clone().to(f64).requires_grad_();
    variables.push_back({"input", leaves.back()});
  }
  const ForkRandom random;
  const auto run = [&] {
    random.rewind();
    return Tensors{forward(leaves)};
  };
  return tape::detail::find_guilty(run, 1, variables);
}

TEST(ModuleBlame, FindsNothingInLayersWithRightGradients) {
  int searched = 0;
  for (const ModuleCheck* module : registered_module_checks()) {
    const Checker check([&](Module& made, const auto& forward, const Tensors& inputs, const GradcheckOptions&) {
      const tape::detail::Verdict verdict = search(made, forward, inputs);
      ++searched;
      EXPECT_THAT(verdict.text, testing::StartsWith("No operation is guilty"))
          << module->type() << ": " << module->label();
      for (const GuiltyOperation& guilty : verdict.guilty)
        ADD_FAILURE() << module->type() << ", " << module->label() << ": " << to_string(guilty);
      for (const UnrecordedRead& read : verdict.unrecorded)
        ADD_FAILURE() << module->type() << ", " << module->label() << ": " << to_string(read);
      return GradcheckReport();
    });
    module->run(check);
  }
  EXPECT_GT(searched, 20);
}

}  // namespace
}  // namespace tape::nn
