#include "autograd/ops/elementwise/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

TEST(Dropout, DropsTheRequestedShare) {
  constexpr int64_t n = 100'000;
  for (const double p : {0.1, 0.5, 0.9}) {
    Generator stream(3);
    const Tensor y = dropout(ones({n}, f64), p, stream);
    const double dropped = sum(eq(y, 0)).item() / n;
    EXPECT_NEAR(dropped, p, 5 * std::sqrt(p * (1 - p) / n)) << p;
    EXPECT_TRUE(tensors_near(max(y), scalar(1 / (1 - p), f64), 1e-12));
    EXPECT_TRUE(all(logical_or(eq(y, 0), gt(y, 1))).item());
  }
}

TEST(Dropout, UsesTheSameMaskInTheBackward) {
  const Tensor x = ones({1000}, f64).requires_grad_();
  Generator stream(3);
  const Tensor y = dropout(x, 0.3, stream);
  sum(y).backward();
  EXPECT_TRUE(tensors_equal(x.grad(), y.detach()));
}

TEST(Dropout, DependsOnlyOnSeedAndCounter) {
  const Tensor x = ones({64});
  EXPECT_TRUE(tensors_equal(seeded_dropout(x, 0.5, 7, 100), seeded_dropout(x, 0.5, 7, 100)));
  EXPECT_FALSE(tensors_equal(seeded_dropout(x, 0.5, 7, 100), seeded_dropout(x, 0.5, 8, 100)));
  EXPECT_FALSE(tensors_equal(seeded_dropout(x, 0.5, 7, 100), seeded_dropout(x, 0.5, 7, 164)));
  const Tensor shifted = seeded_dropout(x, 0.5, 7, 110), base = seeded_dropout(x, 0.5, 7, 100);
  for (int64_t i = 0; i < 54; ++i) ASSERT_EQ(shifted[i].item(), base[i + 10].item());
}

TEST(Dropout, AdvancesItsStream) {
  Generator stream(1);
  dropout(ones({10, 10}), 0.5, stream);
  EXPECT_EQ(stream.counter(), 100u);
  dropout(ones({10}), 0, stream);
  EXPECT_EQ(stream.counter(), 100u);
}

TEST(Dropout, DropsInfinityToZero) {
  const Tensor y = seeded_dropout(full({1000}, INFINITY), 0.5, 1, 0);
  EXPECT_EQ(sum(ne(y, y)).item(), 0) << "0 * infinity";
}

TEST(Dropout, RefusesInvalidProbabilitiesAndIntegers) {
  EXPECT_TAPE_ERROR(dropout(ones({2}), 1), ErrorKind::config, "dropout: the probability must be in [0, 1), got 1");
  EXPECT_TAPE_ERROR(dropout(ones({2}), -0.5), ErrorKind::config,
                    "dropout: the probability must be in [0, 1), got -0.5");
  EXPECT_TAPE_ERROR(dropout(ones({2}), NAN), ErrorKind::config, "dropout: the probability must be in [0, 1), got nan");
  EXPECT_TAPE_ERROR(dropout(arange(3), 0.5), ErrorKind::dtype, "dropout: needs a floating dtype, got i64");
}

}  // namespace
}  // namespace tape
