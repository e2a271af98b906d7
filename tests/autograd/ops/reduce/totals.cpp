#include "autograd/ops/reduce/totals.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Totals, CoverAllTensorsInBothDtypes) {
  const Tensors some = {tensor({1, -2}), tensor({{3, 0}}, f64), zeros({0}), tensor({4})};
  EXPECT_EQ(sum_of_squares("clip", some), 30);
  EXPECT_EQ(sum_of_squares("clip", Tensors{}), 0);
  EXPECT_TRUE(all_finite("clip", some));
  EXPECT_TRUE(all_finite("clip", Tensors{}));
  for (const DType dtype : {f32, f64}) {
    EXPECT_FALSE(all_finite("clip", {some[0], some[1], tensor({1, NAN}, dtype)}));
    EXPECT_FALSE(all_finite("clip", {tensor({-inf}, dtype), some[0], some[1]}));
  }
}

TEST(Totals, RefuseOtherDtypes) {
  EXPECT_TAPE_ERROR(sum_of_squares("clip", {tensor({1}), tensor({1}, bf16)}), ErrorKind::dtype,
                    "clip: needs f32 or f64, got bf16");
  EXPECT_TAPE_ERROR(all_finite("step", {tensor({1}, i64)}), ErrorKind::dtype, "step: needs f32 or f64, got i64");
}

}  // namespace
}  // namespace tape
