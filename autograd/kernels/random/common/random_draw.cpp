#include "autograd/kernels/random/common/random_draw.h"

namespace tape::kernels {
namespace {

void stream_block(uint64_t seed, uint64_t block, uint32_t out[4]) {
  const uint32_t counter[4] = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32), 0, 0};
  const uint32_t key[2] = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
  philox4x32(counter, key, out);
}
}  // namespace

void philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * c0, p1 = uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  out[0] = c0;
  out[1] = c1;
  out[2] = c2;
  out[3] = c3;
}

uint32_t philox_draw(uint64_t seed, uint64_t element) {
  uint32_t words[4];
  stream_block(seed, element >> 2, words);
  return words[element & 3];
}

uint64_t philox_draw64(uint64_t seed, uint64_t element) {
  uint32_t words[4];
  stream_block(seed, element >> 1, words);
  const uint32_t* half = words + 2 * (element & 1);
  return half[0] | uint64_t{half[1]} << 32;
}

}  // namespace tape::kernels
