#include "nn/dropout.h"

#include <cmath>

#include "autograd/ops/elementwise/arithmetic.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Dropout, ZeroesTheGivenShareAndScalesTheRest) {
  manual_seed(5);
  Dropout layer(0.25);
  const std::vector<float> values = layer(ones({100, 100})).to_vector<float>();
  int64_t kept = 0;
  for (float value : values) {
    EXPECT_TRUE(value == 0 || value == 1 / 0.75f) << value;
    kept += value != 0;
  }
  EXPECT_NEAR(static_cast<double>(kept), 7500, 200);
}

TEST(Dropout, PassesGradientsOnlyToTheKeptValues) {
  Dropout layer(0.5);
  const Tensor x = ones({64}, f64).requires_grad_();
  const Tensor y = layer(x);
  y.backward({.gradient = full({64}, 3, f64)});
  EXPECT_TRUE(tensors_equal(x.grad(), (y * 3.0).detach()));
}

TEST(Dropout, DoesNothingInEvaluation) {
  Dropout layer(0.9);
  layer.eval();
  EXPECT_EQ(layer.active_probability(), 0);
  const Tensor x = rand({5});
  EXPECT_TRUE(tensors_equal(layer(x), x));
  layer.train();
  EXPECT_EQ(layer.active_probability(), 0.9);
}

TEST(Dropout, DrawsFromTheDropoutStream) {
  Dropout layer(0.5);
  const auto draw = [&](uint64_t seed) {
    manual_seed(seed);
    return layer(ones({50}));
  };
  EXPECT_TRUE(tensors_equal(draw(1), draw(1)));
  EXPECT_FALSE(tensors_equal(draw(1), draw(2)));
  EXPECT_FALSE(tensors_equal(layer(ones({50})), layer(ones({50}))));
}

TEST(Dropout, PrintsItsSettings) { EXPECT_EQ(Dropout(0.1).settings(), "0.1"); }

TEST(Dropout, RefusesAValueThatIsNotAProbability) {
  EXPECT_TAPE_ERROR(Dropout(-0.1), ErrorKind::config, "Dropout: the probability must be in [0, 1), got -0.1");
  EXPECT_TAPE_ERROR(Dropout(1.5), ErrorKind::config, "Dropout: the probability must be in [0, 1), got 1.5");
  EXPECT_TAPE_ERROR(Dropout(NAN), ErrorKind::config, "Dropout: the probability must be in [0, 1), got nan");
}

}  // namespace
}  // namespace tape::nn
