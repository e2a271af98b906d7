// Modules whose parameters are bf16 or f16.

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "nn/gradcheck/check.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

/// A module of the registry in one dtype: its output, and the gradients of its parameters.
struct HalfRun {
  Tensor output;
  Tensors gradients;
};

HalfRun run_in(DType dtype, Module& module, const std::function<Tensor(const Tensors&)>& forward,
               const Tensors& inputs) {
  manual_seed(7);
  module.to(dtype);
  Tensors given;
  for (const Tensor& input : inputs)
    given.push_back(input.defined() && is_floating(input.dtype()) ? input.to(dtype) : input);
  HalfRun run{.output = forward(given), .gradients = {}};
  if (run.output.requires_grad()) sum(run.output).backward();
  for (const NamedTensor& parameter : module.named_parameters()) run.gradients.push_back(parameter.tensor.grad());
  return run;
}

class EveryModuleInHalf : public testing::TestWithParam<DType> {};

TEST_P(EveryModuleInHalf, ReturnsOutputsAndGradientsOfItsDtype) {
  const DType half = GetParam();
  int modules = 0;
  for (const ModuleCheck* check : registered_module_checks()) {
    SCOPED_TRACE(std::string(check->type()) + ", " + check->label());
    EXPECT_NO_THROW(
        check->run(Checker([&](Module& module, const auto& forward, const Tensors& inputs, const GradcheckOptions&) {
          module.eval();
          // Values that both dtypes represent exactly.
          module.to(half);
          const HalfRun wide = run_in(f64, module, forward, inputs), narrow = run_in(half, module, forward, inputs);
          if (is_floating(wide.output.dtype())) {
            EXPECT_EQ(narrow.output.dtype(), half);
            EXPECT_TRUE(tensors_equal(isfinite(narrow.output), isfinite(wide.output)));
            const Tensor infinite = logical_not(isfinite(wide.output));
            const Tensor found = masked_fill(narrow.output.detach(), infinite, 0).to(f64),
                         expected = masked_fill(wide.output.detach(), infinite, 0);
            EXPECT_TRUE(tensors_near(found, expected, 0.1 * std::max(1.0, max(abs(expected)).item())));
          }
          for (const Tensor& gradient : narrow.gradients)
            if (gradient.defined()) {
              EXPECT_EQ(gradient.dtype(), half);
              EXPECT_TRUE(all(isfinite(gradient)).template item<bool>());
            }
          ++modules;
          return GradcheckReport();
        })));
  }
  EXPECT_GT(modules, 30);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, EveryModuleInHalf, testing::Values(bf16, f16),
                         [](const auto& instance) { return std::string(to_string(instance.param)); });

}  // namespace
}  // namespace tape::nn
