#include "autograd/ops/attention/heads.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/shape/shape.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Heads, ArePackedInOrder) {
  const Tensor x = reshape(arange(12), {1, 2, 6});  // [B, T, H D] with two heads of width 3
  const Tensor heads = split_heads(x, 2);
  EXPECT_TRUE(tensors_equal(heads, reshape(tensor({0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}, i64), {1, 2, 2, 3})));
  EXPECT_TRUE(tensors_equal(merge_heads(heads), x));
}

TEST(GatherKv, ReadsEachPositionFromItsRow) {
  const Tensor x = reshape(arange(12), {2, 3, 2}), rows = tensor({{1, 0, 5}, {0, 1, 5}, {1, 1, 5}}, i64);
  EXPECT_TRUE(
      tensors_equal(gather_kv(x, rows, 2), tensor({{{6, 7}, {2, 3}}, {{0, 1}, {8, 9}}, {{6, 7}, {8, 9}}}, i64)));
}

TEST(MaskedScores, ApplyBiasAndMask) {
  const Tensor scores = tensor({{{{1, 2}, {3, 4}}}}, f64);
  EXPECT_TRUE(tensors_equal(masked_scores(scores, {}), scores));
  const Tensor added = tensor({{10, 20}, {30, 40}}, f64);
  EXPECT_TRUE(tensors_equal(masked_scores(scores, Mask::additive(added)), tensor({{{{11, 22}, {33, 44}}}}, f64)));
  EXPECT_TRUE(tensors_equal(masked_scores(scores, Mask::causal() & Mask::additive(added)),
                            tensor({{{{11, -INFINITY}, {33, 44}}}}, f64)));
  const Tensor ids = tensor({{5, 0}}, i64);
  EXPECT_TRUE(
      tensors_equal(masked_scores(scores, Mask::padding(ids, 0)), tensor({{{{1, -INFINITY}, {3, -INFINITY}}}}, f64)));
}

}  // namespace
}  // namespace tape
