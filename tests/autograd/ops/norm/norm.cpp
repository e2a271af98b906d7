#include "autograd/ops/norm/norm.h"

#include <gtest/gtest.h>

#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/cases.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(LayerNorm, AgreesWithPyTorch) {
  const auto f = [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); };
  expect_case(reference::layer_norm, {{3, 5}, {5}, {5}}, f, 1e-11);
  const Composed composed;
  expect_case(reference::layer_norm, {{3, 5}, {5}, {5}}, f, 1e-11);
}

TEST(LayerNorm, HasMeanZeroAndVarianceOne) {
  const Tensor y = layer_norm(sample_normal({4, 64}) * 3 + 7, {}, {}, 0);
  EXPECT_TRUE(tensors_near(mean(y, -1), zeros({4}, f64), 1e-12));
  EXPECT_TRUE(tensors_near(var(y, -1, {.correction = 0}), ones({4}, f64), 1e-12));
}

TEST(LayerNorm, IsAccurateFarFromZeroInF32) {
  const Tensor x = (sample_normal({2, 256}) + 1000).to(f32);
  EXPECT_TRUE(tensors_near(layer_norm(x).to(f64), layer_norm(x.to(f64)), 2e-3));
}

TEST(LayerNorm, RecordsEveryStepInAComposedScope) {
  const Tensor x = sample_normal({2, 3}).requires_grad_();
  const Composed composed;
  const Tensor y = layer_norm(x);
  EXPECT_STREQ(y.impl().node->name(), "mul");
}

TEST(LayerNorm, IsFiniteForConstantRows) {
  const Tensor x = full({2, 3}, 5).requires_grad_();
  const Tensor y = layer_norm(x);
  EXPECT_TRUE(tensors_equal(y, zeros({2, 3})));
  sum(y * y).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), zeros({2, 3})));
}

TEST(LayerNorm, RefusesInvalidWeightsAndEmptyRows) {
  EXPECT_EQ(layer_norm(zeros({0, 3}), ones({3})).shape(), Shape({0, 3}));
  EXPECT_TAPE_ERROR(layer_norm(zeros({2, 0})), ErrorKind::shape, "layer_norm: nothing to normalize in [2, 0]");
  EXPECT_TAPE_ERROR(layer_norm(scalar(1)), ErrorKind::shape, "layer_norm: nothing to normalize in []");
  EXPECT_TAPE_ERROR(layer_norm(zeros({2, 3}), ones({2})), ErrorKind::shape,
                    "layer_norm: weight must be [3] for x [2, 3], got [2]");
  EXPECT_TAPE_ERROR(layer_norm(zeros({2, 3}), ones({3}), ones({1, 3})), ErrorKind::shape,
                    "layer_norm: bias must be [3] for x [2, 3], got [1, 3]");
  EXPECT_TAPE_ERROR(layer_norm(zeros({2, 3}), ones({3}, f64)), ErrorKind::dtype,
                    "layer_norm: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(layer_norm(zeros({2, 3}), {}, {}, -1), ErrorKind::config,
                    "layer_norm: eps must be 0 or more, got -1");
  EXPECT_TAPE_ERROR(rms_norm(zeros({2, 3}), {}, NAN), ErrorKind::config, "rms_norm: eps must be 0 or more, got nan");
  EXPECT_TAPE_ERROR(layer_norm(zeros({2, 3}, i64)), ErrorKind::dtype, "layer_norm: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
