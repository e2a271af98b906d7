#include "autograd/ops/attention/rotary.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "autograd/tape/scope.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(RotaryEmbedding, MatchesTheFormula) {
  const Tensor x = tensor({{{1, 2, 3, 4, 9}}}), c = tensor({{0.5, 2}}), s = tensor({{3, 1}});
  EXPECT_TRUE(tensors_equal(rotary_embedding(x, c, s), tensor({{{-8.5, 0, 4.5, 10, 9}}})));
  EXPECT_TRUE(tensors_equal(rotary_embedding(x, c, s, {.interleaved = true}), tensor({{{-5.5, 4, 2, 11, 9}}})));
}

TEST(RotaryEmbedding, MatchesComposedInEveryDtype) {
  for (const bool interleaved : {false, true})
    for (const DType dtype : {f64, f32, bf16, f16}) {
      const RotaryEmbeddingOptions options{.num_heads = 3, .interleaved = interleaved};
      const DType table = compute_dtype(dtype);
      const Tensor x = sample_normal({2, 4, 30}, 1).to(dtype).requires_grad_(), c = sample_normal({4, 4}, 2).to(table),
                   s = sample_normal({4, 4}, 3).to(table), dy = sample_normal({2, 4, 30}, 4).to(dtype);
      const auto both = [&] {
        const Tensor y = rotary_embedding(x, c, s, options);
        EXPECT_EQ(y.dtype(), dtype);
        return Tensors{y.detach().to(f64), grad({y}, {x}, {.gradients = {dy}})[0].to(f64)};
      };
      const Tensors fused = both();
      const Composed composed;
      const Tensors unfused = both();
      const double bound = dtype == f64 ? 1e-14 : dtype == f32 ? 1e-6 : 2e-2;
      for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(tensors_near(fused[i], unfused[i], bound)) << to_string(dtype) << i;
    }
}

TEST(RotaryEmbedding, AcceptsHalfPrecisionTables) {
  for (const DType dtype : {bf16, f16}) {
    const Tensor x = sample_normal({2, 4, 8}, 1).to(dtype), table = sample_normal({4, 2}, 2).to(dtype);
    const Tensor c = table.clone().requires_grad_(), wide = table.to(f32).requires_grad_();
    const Tensor y = rotary_embedding(x, c, table, {.num_heads = 2}),
                 expected = rotary_embedding(x, wide, table.to(f32), {.num_heads = 2});
    EXPECT_TRUE(tensors_equal(y, expected));
    const Tensor dc = grad({sum(y)}, {c})[0];
    EXPECT_EQ(dc.dtype(), dtype);
    EXPECT_TRUE(tensors_equal(dc, grad({sum(expected)}, {wide})[0].to(dtype)));
  }
}

TEST(RotaryEmbedding, SavesItsInputOnlyForLearnedTables) {
  const Tensor x = ones({1, 2, 4}).requires_grad_(), c = ones({2, 2}), s = ones({2, 2});
  const auto holders = [&] { return x.impl().use_count() + x.impl().storage->use_count(); };
  const Tensor fixed = rotary_embedding(x, c, s);
  const auto without = holders();
  const Tensor again = rotary_embedding(x, c, s);
  const auto a_call = holders() - without;
  const Tensor learned = rotary_embedding(x, c.clone().requires_grad_(), s);
  EXPECT_GT(holders() - without, 2 * a_call);
}

TEST(RotaryEmbedding, RefusesTablesThatDoNotMatchItsInput) {
  const Tensor x = zeros({2, 3, 8});
  const auto call = [&](const Shape& table, int64_t heads = 2) {
    return rotary_embedding(x, zeros(table), zeros(table), {.num_heads = heads});
  };
  EXPECT_TAPE_ERROR(rotary_embedding(zeros({3, 8}), zeros({3, 2}), zeros({3, 2})), ErrorKind::shape,
                    "rotary_embedding: x must be [B, T, H D], got [3, 8]");
  EXPECT_TAPE_ERROR(call({3, 2}, 3), ErrorKind::config, "rotary_embedding: width 8 is not divisible by num_heads 3");
  EXPECT_TAPE_ERROR(call({3, 2}, 0), ErrorKind::config, "rotary_embedding: width 8 is not divisible by num_heads 0");
  for (const Shape& table : {Shape{2, 2}, Shape{3, 3}, Shape{1, 3, 2}, Shape{2, 2, 2}, Shape{3}})
    EXPECT_TAPE_ERROR(
        call(table), ErrorKind::shape,
        "rotary_embedding: cosine and sine " + to_string(table) + " do not fit x [2, 3, 8] with 2 heads of width 4");
  EXPECT_TAPE_ERROR(rotary_embedding(x, zeros({3, 2}), zeros({3, 1}), {.num_heads = 2}), ErrorKind::shape,
                    "rotary_embedding: shapes differ: [3, 2] and [3, 1]");
  EXPECT_TAPE_ERROR(rotary_embedding(x, zeros({3, 2}, f64), zeros({3, 2}, f64)), ErrorKind::dtype,
                    "rotary_embedding: dtypes differ: f32 and f64");
  EXPECT_TAPE_ERROR(rotary_embedding(x.to(bf16), zeros({3, 2}, f16), zeros({3, 2}, f16)), ErrorKind::dtype,
                    "rotary_embedding: dtypes differ: bf16 and f16");
  EXPECT_TAPE_ERROR(rotary_embedding(zeros({2, 3, 8}, i64), zeros({3, 2}), zeros({3, 2})), ErrorKind::dtype,
                    "rotary_embedding: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
