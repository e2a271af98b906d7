#include "models/encoder_decoders/alignment.h"

#include <gmock/gmock.h>

#include "autograd/create.h"
#include "tests/support/errors.h"

namespace tape::models {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(AlignedTokens, PairsEachTokenWithTheOneItAttendsToMost) {
  const std::vector<uint8_t> special{1, 0, 0, 1};
  const Tensor weights = tensor({{0.1, 0.2, 0.6, 0.1}, {0.1, 0.7, 0.1, 0.1}, {0.2, 0.1, 0.1, 0.6}});
  EXPECT_THAT(aligned_tokens(weights, special), ElementsAre(Pair(1, 0), Pair(0, 1))) << "the last attends to the end";
  EXPECT_THAT(aligned_tokens(zeros({0, 4}), special), IsEmpty());
  EXPECT_TAPE_ERROR(aligned_tokens(zeros({2, 3}), special), ErrorKind::shape,
                    "aligned_tokens: the alignment must be [T, S], got [2, 3] for 4 tokens of the source");
}

}  // namespace
}  // namespace tape::models
