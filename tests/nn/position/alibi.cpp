#include "nn/position/alibi.h"

#include <fmt/format.h>

#include "autograd/ops/attention/attention.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/shape/pad.h"
#include "autograd/ops/shape/shape.h"
#include "nn/attention/attention.h"
#include "tests/nn/torch_case.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

TEST(Alibi, HasTheSlopesOfThePaper) {
  EXPECT_TRUE(tensors_equal(alibi_slopes(8, f64),
                            tensor({1. / 2, 1. / 4, 1. / 8, 1. / 16, 1. / 32, 1. / 64, 1. / 128, 1. / 256}, f64)));
  // Not a power of two: the slopes of 2, then the first of 4.
  EXPECT_TRUE(tensors_equal(alibi_slopes(3, f64), tensor({1. / 16, 1. / 256, 1. / 4}, f64)));
}

TEST(Alibi, AgreesWithBloom) {
  for (const int64_t heads : {1, 2, 3, 6, 8, 12, 20}) {
    const TorchCase c("positions", fmt::format("alibi {}", heads));  // computed in f32
    EXPECT_TRUE(tensors_near(alibi_slopes(heads, f64), c.out.at("slopes"), 1e-6)) << heads;
    EXPECT_TRUE(tensors_near(tril(alibi(heads, 3, 3, 0, f64).bias()), c.out.at("causal"), 1e-6)) << heads;
  }
}

TEST(Alibi, ReproducesBloomsAttention) {
  expect_agrees_with_torch(TorchCase("positions", "alibi attention"), [](const Named& in) {
    const Tensor& query = in.at("query");
    const Mask mask = Mask::causal() & alibi(2, 3, 3, 0, query.dtype());
    return Named{{"y", scaled_dot_product_attention(query, in.at("key"), in.at("value"), {.mask = mask})}};
  });
}

TEST(Alibi, CoversBothDirectionsAndLaterQueries) {
  const Tensor whole = alibi(2, 3, 4, 0, f64).bias();
  EXPECT_TRUE(tensors_equal(whole[0] * 16, tensor({{0, -1, -2, -3}, {-1, 0, -1, -2}, {-2, -1, 0, -1}}, f64)));
  EXPECT_TRUE(tensors_equal(alibi(2, 1, 4, 2, f64).bias(), slice(whole, 1, {.start = 2})));
  EXPECT_EQ(to_string(alibi(2, 0, 3).bias().shape()), "[2, 0, 3]");
}

TEST(Alibi, RefusesNoHeadsAndNegativeLengths) {
  EXPECT_TAPE_ERROR(alibi_slopes(0), ErrorKind::config, "alibi_slopes: the number of heads must be at least 1, got 0");
  EXPECT_TAPE_ERROR(alibi(2, -1, 3, 4), ErrorKind::config,
                    "alibi: lengths and the first position must not be negative, got -1, 3 and 4");
}

}  // namespace
}  // namespace tape::nn
