#include "nn/norm/group_norm.h"

#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"

namespace tape::nn {
namespace {

TEST(GroupNorm, AgreesWithTorch) {
  GroupNorm affine(2, 6), plain(3, 6, {.eps = 0.1, .affine = false});
  expect_agrees_with_torch("convolution_layers", "group norm", affine);
  expect_agrees_with_torch("convolution_layers", "group norm plain", plain);
}

TEST(GroupNorm, PrintsItsSettings) {
  EXPECT_EQ(GroupNorm(2, 6).settings(), "2 groups, 6, eps 1e-05");
  EXPECT_EQ(GroupNorm(1, 6, {.eps = 0.1, .affine = false}).settings(), "1 groups, 6, eps 0.1, not affine");
}

TEST(GroupNorm, RefusesInvalidSizes) {
  EXPECT_TAPE_ERROR(GroupNorm(0, 4), ErrorKind::config, "GroupNorm: groups must be at least 1, got 0");
  EXPECT_TAPE_ERROR(GroupNorm(2, 0, {.affine = false}), ErrorKind::config,
                    "GroupNorm: channels must be at least 1, got 0");
  EXPECT_TAPE_ERROR(GroupNorm(3, 4), ErrorKind::config, "GroupNorm: 3 groups do not divide 4 channels");
  EXPECT_TAPE_ERROR(GroupNorm(2, 4, {.eps = -1}), ErrorKind::config, "GroupNorm: eps must not be negative, got -1");
  GroupNorm layer(2, 4, {.affine = false});
  EXPECT_TAPE_ERROR(layer(zeros({1, 6, 2})), ErrorKind::shape, "GroupNorm: expected 4 channels, got x [1, 6, 2]");
}

}  // namespace
}  // namespace tape::nn
