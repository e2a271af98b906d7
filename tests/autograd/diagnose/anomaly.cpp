#include "autograd/diagnose/anomaly.h"

#include <cmath>
#include <optional>

#include "autograd/create.h"
#include "autograd/mask.h"
#include "autograd/ops.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensor leaf(std::initializer_list<Values> values) { return tensor(values).requires_grad_(true); }

TEST(Anomaly, NamesTheOperationThatProducedIt) {
  const DetectAnomaly looking;
  EXPECT_TAPE_ERROR(log(leaf({{1, 2, 3}, {0, 1, 2}})), ErrorKind::numeric,
                    "log: produced -inf at [1, 0] of [2, 3], from finite inputs");
  EXPECT_TAPE_ERROR(sqrt(leaf({1, -1})), ErrorKind::numeric, "sqrt: produced NaN at [1] of [2], from finite inputs");
  EXPECT_TAPE_ERROR(exp(leaf({1, 1000})), ErrorKind::numeric, "exp: produced inf at [1] of [2], from finite inputs");
  EXPECT_TAPE_ERROR(leaf({1e30}) * 1e30, ErrorKind::numeric,
                    "affine (scale=1e+30, shift=0): produced inf at [0] of [1], from finite inputs");
}

TEST(Anomaly, ChecksHalfPrecisionValues) {
  const DetectAnomaly looking;
  EXPECT_TAPE_ERROR(leaf({1, 70000}).to(f16), ErrorKind::numeric,
                    "cast (dtype=f16): produced inf at [1] of [2], from finite inputs");
  EXPECT_TRUE(tensors_equal(leaf({1, 70000}).to(bf16), tensor({1, 70000}, bf16)));
}

TEST(Anomaly, NamesTheModuleOfTheOperation) {
  const DetectAnomaly looking;
  const ModuleScope outer("decoder"), inner("norm");
  const Tensor y = sqrt(leaf({0, 1}));
  EXPECT_TAPE_ERROR(sum(y).backward(), ErrorKind::numeric,
                    "decoder.norm: backward of 'sqrt': produced inf at [0] of [2] for input 0, from finite gradients");
}

TEST(Anomaly, ReportsInputsThatAreAlreadyNotFinite) {
  const DetectAnomaly looking;
  EXPECT_TAPE_ERROR(leaf({1, 2}) * tensor({1, NAN}), ErrorKind::numeric,
                    "mul: received NaN at [1] of [2] as input 1, which no recorded operation produced");
}

TEST(Anomaly, FindsOverflowInSummedGradients) {
  const DetectAnomaly looking;
  const Tensor x = leaf({0}), y = x * 1.0;
  const Tensor z = sum(y * 3e38) + sum(y * 3e38 * 0.9);
  EXPECT_TAPE_ERROR(z.backward(), ErrorKind::numeric,
                    "backward of 'affine' (scale=1, shift=0): the gradient of output 0 is inf at [0] of [1] (a sum of "
                    "finite gradients, or "
                    "the seed)");
}

TEST(Anomaly, IgnoresMaskedValues) {
  const DetectAnomaly looking;
  const Tensor scores = leaf({{1, 2}, {3, 4}});
  const auto gradient = [&](const Tensor& masked) { return grad({sum(softmax(masked, -1) * scores)}, {scores})[0]; };
  const double p = 1 / (1 + std::exp(1.0)), q = 1 - p, mean = 3 * p + 4 * q;  // the second row's weights
  const double left = p + p * (3 - mean), right = q + q * (4 - mean);
  // Masked by masked_fill and by an additive mask.
  const Tensor one_seen = tensor({{0, 1}, {left, right}});
  const Tensor hidden = tensor({{1, 0}, {0, 0}}, boolean);
  EXPECT_TRUE(tensors_near(gradient(masked_fill(scores, hidden, -INFINITY)), one_seen, 1e-6));
  EXPECT_TRUE(tensors_near(gradient(scores + tensor({{-INFINITY, 0}, {0, 0}})), one_seen, 1e-6));
  EXPECT_TRUE(
      tensors_near(gradient(scores + tensor({{-INFINITY, -INFINITY}, {0, 0}})), tensor({{0, 0}, {left, right}}), 1e-6));
}

TEST(Anomaly, IgnoresAttentionRowsWithoutVisibleKeys) {
  const Tensor mask = tensor({{0, 0}, {1, 0}});
  for (const bool composed : {false, true}) {
    std::optional<Composed> unfused;
    if (composed) unfused.emplace();
    const DetectAnomaly looking;
    const Tensor q = randn({1, 2, 4}).requires_grad_(true), k = randn({1, 2, 4}).requires_grad_(true);
    const Tensor y = scaled_dot_product_attention(q, k, k, {.mask = Mask::keep(eq(mask, 1))});
    sum(square(y)).backward();
    // The first query sees no key and the second sees only the first, whatever the values are.
    const Tensor nothing = zeros({1, 4}), seen = select(k.detach(), 1, 0);
    EXPECT_TRUE(tensors_equal(y.detach(), stack({nothing, seen}, 1)));
    EXPECT_TRUE(tensors_near(q.grad(), zeros({1, 2, 4}), 1e-6));
    EXPECT_TRUE(tensors_near(k.grad(), stack({seen * 2, nothing}, 1), 1e-6));
  }
}

TEST(Anomaly, IsOffOutsideItsScope) {
  { const DetectAnomaly looking; }
  EXPECT_TRUE(std::isinf(log(leaf({0})).to_vector<float>()[0]));
}

}  // namespace
}  // namespace tape
