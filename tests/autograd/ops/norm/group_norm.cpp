#include "autograd/ops/norm/group_norm.h"

#include <gtest/gtest.h>

#include "autograd/ops/norm/norm.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/op.h"
#include "tests/autograd/ops/rounded_f32.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(GroupNormOperation, IsLayerNormForOneGroup) {
  const Tensor x = sample_normal({3, 4, 5});
  EXPECT_TRUE(tensors_near(group_norm(x, 1), reshape(layer_norm(reshape(x, {3, 20})), {3, 4, 5}), 1e-12));
}

TEST(GroupNormOperation, ReturnsTheBiasForEqualValues) {
  EXPECT_TRUE(
      tensors_equal(group_norm(full({1, 2, 3}, 5), 2, ones({2}), tensor({1, 2})), tensor({{{1, 1, 1}, {2, 2, 2}}})));
}

TEST(GroupNormOperation, ComputesHalvesInF32) {
  expect_rounded_f32({sample_normal({2, 4, 3}, 1), sample_normal({4}, 2), sample_normal({4}, 3)},
                     [](const Tensors& in) { return group_norm(in[0], 2, in[1], in[2]); });
}

TEST(GroupNormOperation, AcceptsEmptyInput) {
  EXPECT_EQ(group_norm(zeros({0, 4, 2}), 2).shape(), Shape({0, 4, 2}));
  EXPECT_EQ(group_norm(zeros({2, 4, 0}), 2).shape(), Shape({2, 4, 0}));
}

TEST(GroupNormOperation, RefusesInvalidGroupsAndWeights) {
  const Tensor x = zeros({2, 4, 5});
  EXPECT_TAPE_ERROR(group_norm(x, 3), ErrorKind::shape,
                    "group_norm: 3 groups do not divide the 4 channels of x [2, 4, 5]");
  EXPECT_TAPE_ERROR(group_norm(x, 0), ErrorKind::config, "group_norm: groups must be at least 1, got 0");
  EXPECT_TAPE_ERROR(group_norm(zeros({4}), 1), ErrorKind::shape,
                    "group_norm: x must be [N, C, ...] with a channel, got [4]");
  EXPECT_TAPE_ERROR(group_norm(zeros({4, 0}), 1), ErrorKind::shape,
                    "group_norm: x must be [N, C, ...] with a channel, got [4, 0]");
  EXPECT_TAPE_ERROR(group_norm(x, 2, zeros({2})), ErrorKind::shape,
                    "group_norm: weight must be [4] for x [2, 4, 5], got [2]");
  EXPECT_TAPE_ERROR(group_norm(x, 2, {}, zeros({4, 1})), ErrorKind::shape,
                    "group_norm: bias must be [4] for x [2, 4, 5], got [4, 1]");
  EXPECT_TAPE_ERROR(group_norm(x, 2, zeros({4}, f64)), ErrorKind::dtype, "group_norm: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(group_norm(x, 2, {}, {}, -1), ErrorKind::config, "group_norm: eps must be 0 or more, got -1");
}

}  // namespace
}  // namespace tape
