#include "autograd/diagnose/profile.h"

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {
namespace {

const Profile::Cost& cost_of(const Profile& profile, Profile::Pass pass, const char* name) {
  return profile.costs().at({pass, name});
}

TEST(Profile, CountsCallsWorkAndBytesOfEachOperation) {
  const Tensor x = ones({4, 5}).requires_grad_(), w = ones({3, 5}).requires_grad_();
  Profile profile;
  for (int step = 0; step < 2; ++step) sum(linear(x, w, Tensor())).backward();
  const Profile::Cost& forward = cost_of(profile, Profile::Pass::forward, "linear");
  EXPECT_EQ(forward.calls, 2);
  EXPECT_EQ(forward.flops, 2 * 2 * 4 * 5 * 3);
  EXPECT_EQ(forward.bytes, 2 * 4 * (4 * 5 + 3 * 5 + 4 * 3));
  EXPECT_GT(forward.seconds, 0);
  const Profile::Cost& backward = cost_of(profile, Profile::Pass::backward, "linear");
  EXPECT_EQ(backward.calls, 2);
  EXPECT_EQ(backward.flops, 2 * forward.flops);
  EXPECT_EQ(cost_of(profile, Profile::Pass::backward, "sum").calls, 2);
  profile.reset();
  EXPECT_TRUE(profile.costs().empty());
}

TEST(Profile, CountsNoBytesOfWhatIsNotCopied) {
  const Tensor x = ones({4, 5}).requires_grad_(), y = ones({4, 5}).requires_grad_();
  Profile profile;
  sum(reshape(x + y, {20})).backward();
  EXPECT_EQ(cost_of(profile, Profile::Pass::forward, "reshape").bytes, 0);
  EXPECT_EQ(cost_of(profile, Profile::Pass::backward, "reshape").bytes, 0);
  EXPECT_EQ(cost_of(profile, Profile::Pass::forward, "add").bytes, 3 * 4 * 20);
  EXPECT_EQ(cost_of(profile, Profile::Pass::backward, "add").bytes, 0) << "both inputs have the gradient of the sum";
}

TEST(Profile, CountsTheRowsOfATableThatAreRead) {
  const Tensor table = ones({1000, 8}).requires_grad_(), ids = zeros({3}, i64);
  Profile profile;
  sum(embedding(table, ids)).backward();
  EXPECT_EQ(cost_of(profile, Profile::Pass::forward, "embedding").bytes, 2 * 4 * (3 * 8));
  EXPECT_EQ(cost_of(profile, Profile::Pass::backward, "embedding").bytes, 4 * (3 * 8) + 8 * 3 + 4 * 1000 * 8)
      << "the gradient of the table is written, with its zeros";
}

TEST(Profile, HasTheTimeOfTheHostOnTheCpu) {
  const Tensor x = ones({4, 5}).requires_grad_();
  const Profile profile;
  sum(x).backward();
  for (const auto& [key, cost] : profile.costs()) EXPECT_EQ(cost.seconds, cost.host_seconds) << key.second;
}

TEST(Profile, CountsOnlyPairsVisibleToCausalAttention) {
  const Tensor x = ones({2, 3, 4, 8}).requires_grad_();  // 10 of 16 pairs per head
  Profile profile;
  sum(scaled_dot_product_attention(x, x, x, {.mask = Mask::causal()})).backward();
  const double pair = 2 * 8;  // multiplications and additions
  EXPECT_EQ(cost_of(profile, Profile::Pass::forward, "scaled_dot_product_attention").flops, 2 * 6 * 10 * pair);
  EXPECT_EQ(cost_of(profile, Profile::Pass::backward, "scaled_dot_product_attention").flops, 5 * 6 * 10 * pair);
}

TEST(Profile, CountsExplicitlyChargedWork) {
  Profile profile;
  profile.charge("something");
  EXPECT_EQ(cost_of(profile, Profile::Pass::other, "something").calls, 1);
  EXPECT_EQ(profile.costs().size(), 1u);
}

}  // namespace
}  // namespace tape
