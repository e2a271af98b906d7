#include "autograd/kernels/random/common/random_draw.h"

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

/// Known answers from Random123 (Salmon et al. 2011), kat_vectors: philox4x32 10.
TEST(RandomDraw, GivesTheKnownAnswers) {
  const struct {
    PhiloxBlock counter;
    uint32_t key[2], wanted[4];
  } cases[] = {
      {{{0, 0, 0, 0}}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{{~0U, ~0U, ~0U, ~0U}}, {~0U, ~0U}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& c : cases) {
    const PhiloxBlock out = philox_block(c.counter, c.key[0], c.key[1]);
    for (int w = 0; w < 4; ++w) EXPECT_EQ(out.word[w], c.wanted[w]);
  }
  for (uint64_t w = 0; w < 4; ++w) EXPECT_EQ(philox_draw(0, w), cases[0].wanted[w]);
  EXPECT_EQ(philox_draw64(0, 0), 0xe169c58d6627e8d5U);
  EXPECT_EQ(philox_draw64(0, 1), 0x9b00dbd8bc57ac4cU);
}

}  // namespace
}  // namespace tape::kernels::testing
