// Gradients of gradients through a whole Transformer, with fused operations and their composed reference
// implementations.

#include <algorithm>
#include <optional>

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "autograd/gradcheck/gtest.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/loss/loss.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/models/checked_transformer.h"
#include "tests/support/tensors.h"

namespace tape::models {
namespace {

struct Small {
  Transformer model{checked_config(nn::ActivationKind::gelu, 6)};
  Tensor src = checked_ids()[0], tgt = checked_ids()[1];
};

TEST(SecondDerivatives, PassGradcheckForAWholeTransformer) {
  for (const bool composed : {false, true}) {
    SCOPED_TRACE(composed ? "composed" : "fused");
    manual_seed(4);
    Small small;
    // Softmax ignores a constant added to all keys, so this would compare rounding errors.
    for (const NamedTensor& parameter : small.model.named_parameters())
      if (parameter.name.ends_with("key.bias")) Tensor(parameter.tensor).requires_grad_(false);
    std::optional<Composed> scope;
    if (composed) scope.emplace();
    const GradcheckReport report =
        nn::gradgradcheck(small.model, {small.src, small.tgt}, {.rtol = 1e-5, .max_elements = 2});
    EXPECT_TRUE(gradients_match(report));
    EXPECT_GT(report.variables.size(), 80u);
  }
}

/// Gradient of the squared norm of the loss's gradient.
Tensors second_gradients(Small& small) {
  manual_seed(9);  // the same dropout each time
  Tensors parameters;
  for (const NamedTensor& parameter : small.model.named_parameters()) parameters.push_back(parameter.tensor);
  const Tensor loss = cross_entropy(small.model(small.src, small.tgt), tensor({{4, 2}, {3, 1}}, i64));
  const Tensors first = grad({loss}, parameters, {.create_graph = true});
  Tensor length = scalar(0, f64);
  for (const Tensor& gradient : first) length = length + sum(square(gradient));
  Tensors second = grad({length}, parameters, {.allow_unused = true});
  for (size_t i = 0; i < second.size(); ++i)
    if (!second[i].defined()) second[i] = zeros_like(parameters[i].detach());
  return second;
}

TEST(SecondDerivatives, AreTheSameForFusedAndComposedOperations) {
  manual_seed(4);
  Small small;
  small.model.to(f64);
  const Tensors fused = second_gradients(small);
  const Composed composed;
  const Tensors steps = second_gradients(small);
  ASSERT_EQ(fused.size(), steps.size());
  double largest = 0;
  for (size_t i = 0; i < fused.size(); ++i) {
    EXPECT_TRUE(tensors_near(fused[i], steps[i], 1e-10)) << small.model.named_parameters()[i].name;
    largest = std::max(largest, sum(square(fused[i])).item());
  }
  EXPECT_GT(largest, 0);
}

}  // namespace
}  // namespace tape::models
