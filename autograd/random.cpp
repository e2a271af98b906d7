#include "autograd/random.h"

#include <array>

#include "autograd/kernels/random_draw.h"

namespace tape {

uint64_t Generator::advance(int64_t n) {
  const uint64_t first = counter_;
  counter_ += static_cast<uint64_t>(n);
  return first;
}

int64_t Generator::below(int64_t bound) {
  if (bound < 1) raise(ErrorKind::config, "random: the bound must be at least 1, got {}", bound);
  // The upper half of a 128-bit product (Lemire 2019) without rejection: the bias is below bound / 2^64.
  const uint64_t draw = kernels::philox_draw64(seed_, advance(1));
  return static_cast<int64_t>((static_cast<unsigned __int128>(draw) * static_cast<uint64_t>(bound)) >> 64);
}

double Generator::uniform() { return static_cast<double>(kernels::philox_draw64(seed_, advance(1)) >> 11) * 0x1p-53; }

namespace {
std::array<Generator, kStreams>& streams() {
  static std::array<Generator, kStreams> all{Generator(0), Generator(1), Generator(2), Generator(3)};
  return all;
}
}  // namespace

Generator& generator(Stream stream) { return streams()[static_cast<size_t>(stream)]; }

void manual_seed(uint64_t seed) {
  // Streams differ in the upper bits of the key, so that equal small seeds never meet.
  for (uint64_t i = 0; i < kStreams; ++i) streams()[i] = Generator(seed + (i << 56));
}

}  // namespace tape
