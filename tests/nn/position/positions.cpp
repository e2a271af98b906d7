#include "nn/position/positions.h"

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"
#include "nn/position/rotary.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Positions, AreConsecutiveOrGivenPerToken) {
  Rotary layer(4);
  const Tensor x = randn({2, 3, 8}, f64);
  EXPECT_TRUE(tensors_equal(layer(x), layer(x, 0)));
  EXPECT_TRUE(tensors_equal(layer(x, 5), layer(x, tensor({5, 6, 7}, i64))));
  EXPECT_TRUE(tensors_equal(layer(x, 5), layer(x, tensor({{5, 6, 7}, {5, 6, 7}}, i64))));
  const Tensor apart = layer(x, tensor({{5, 6, 7}, {0, 1, 2}}, i64));
  EXPECT_TRUE(tensors_equal(apart[0], layer(x, 5)[0]));
  EXPECT_TRUE(tensors_equal(apart[1], layer(x, 0)[1]));
}

TEST(Positions, ContinueAfterACacheByDefault) {
  EXPECT_FALSE(Positions().given());
  EXPECT_TRUE(Positions().or_starting_at(4).given());
  Rotary layer(4);
  const Tensor x = randn({1, 2, 4}, f64);
  EXPECT_TRUE(tensors_equal(layer(x, Positions().or_starting_at(4)), layer(x, 4)));
  EXPECT_TRUE(tensors_equal(layer(x, Positions(2).or_starting_at(4)), layer(x, 2)));
  EXPECT_TRUE(tensors_equal(layer(x, Positions(tensor({2, 1}, i64)).or_starting_at(4)), layer(x, tensor({2, 1}, i64))));
}

TEST(Positions, ComputeARotationOnce) {
  const Positions positions(3);
  const RotaryFrequencies one{.rotary_dim = 4}, other{.theta = 100, .rotary_dim = 4};
  const RotaryTables turn = positions.rotary_tables(one, 2, 3, f32);
  EXPECT_EQ(positions.rotary_tables(one, 2, 3, f32).cosine.raw(), turn.cosine.raw());
  EXPECT_NE(positions.rotary_tables(one, 2, 3, f64).cosine.raw(), turn.cosine.raw());
  EXPECT_NE(positions.rotary_tables(one, 2, 2, f32).cosine.raw(), turn.cosine.raw());
  EXPECT_NE(positions.rotary_tables(other, 2, 3, f32).cosine.raw(), turn.cosine.raw());
  EXPECT_EQ(turn.cosine.shape(), Shape({3, 2}));
}

TEST(Positions, RefuseInvalidIds) {
  EXPECT_TAPE_ERROR(Positions(-1), ErrorKind::index, "Positions: a position must be in [0, 2^53), got -1");
  EXPECT_TAPE_ERROR(Positions(INT64_MAX), ErrorKind::index,
                    "Positions: a position must be in [0, 2^53), got 9223372036854775807");
  EXPECT_TAPE_ERROR(Positions(tensor({0, -2}, i64)), ErrorKind::index,
                    "Positions: a position must be in [0, 2^53), got -2");
  EXPECT_TAPE_ERROR(Positions(zeros({3})), ErrorKind::dtype, "Positions: ids must be i64, got f32");
  EXPECT_TAPE_ERROR(Positions(zeros({1, 1, 3}, i64)), ErrorKind::shape,
                    "Positions: ids must be [B, T] or [T], got [1, 1, 3]");
  Rotary layer(4);
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 4}), tensor({0, 1}, i64)), ErrorKind::shape,
                    "Positions: ids [2] do not fit 2 texts of length 3");
  EXPECT_TAPE_ERROR(layer(zeros({2, 3, 4}), zeros({1, 3}, i64)), ErrorKind::shape,
                    "Positions: ids [1, 3] do not fit 2 texts of length 3");
}

}  // namespace
}  // namespace tape::nn
