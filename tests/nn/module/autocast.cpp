// Every registered module with mixed precision: it runs, its output is near that of f32, and its parameters get f32
// gradients.
#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "autograd/tape/scope.h"
#include "nn/gradcheck/check.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Outputs of the modules that a check builds, in f32.
Tensors outputs_of(const nn::ModuleCheck& check) {
  manual_seed(11);
  Tensors outputs;
  check.run(nn::Checker([&](nn::Module& module, const auto& forward, const Tensors& given, const GradcheckOptions&) {
    module.to(f32);
    Tensors inputs;
    for (const Tensor& input : given)
      inputs.push_back(is_floating(input.dtype()) ? cast(input.detach(), f32).requires_grad_() : input);
    const Tensor output = forward(inputs);
    outputs.push_back(cast(output.detach(), f32));
    sum(square(cast(output, f32))).backward();
    for (const NamedTensor& parameter : module.named_parameters()) {
      const Tensor gradient = parameter.tensor.grad();
      EXPECT_TRUE(!gradient.defined() || gradient.dtype() == f32) << parameter.name;
    }
    return GradcheckReport();
  }));
  return outputs;
}

TEST(Autocast, RunsEveryModule) {
  for (const nn::ModuleCheck* check : nn::registered_module_checks()) {
    SCOPED_TRACE(std::string(check->type()) + ": " + check->label());
    try {
      const Tensors exact = outputs_of(*check);
      const AutocastScope autocast;
      const Tensors rounded = outputs_of(*check);
      ASSERT_EQ(exact.size(), rounded.size());
      for (size_t i = 0; i < exact.size(); ++i)
        EXPECT_TRUE(tensors_near(rounded[i], exact[i], 0.1 * std::max(1.0, max(abs(exact[i])).item())));
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
}

}  // namespace
}  // namespace tape
