#include "autograd/random.h"

#include <atomic>
#include <thread>

#include "autograd/kernels/random/common/random_draw.h"

namespace tape {

uint64_t Generator::advance(int64_t n) {
  const uint64_t first = counter_;
  counter_ += static_cast<uint64_t>(n);
  return first;
}

int64_t Generator::below(int64_t bound) {
  if (bound < 1) raise(ErrorKind::config, "random: the bound must be at least 1, got {}", bound);
  // Upper half of the 128-bit product (Lemire 2019), without rejection: the bias is below bound / 2^64.
  const uint64_t draw = kernels::philox_draw64(seed_, advance(1));
  return static_cast<int64_t>((static_cast<unsigned __int128>(draw) * static_cast<uint64_t>(bound)) >> 64);
}

double Generator::uniform() { return static_cast<double>(kernels::philox_draw64(seed_, advance(1)) >> 11) * 0x1p-53; }

namespace {

/// The thread that loaded the library.
std::thread::id main_thread() {
  static const std::thread::id id = std::this_thread::get_id();
  return id;
}
[[maybe_unused]] const std::thread::id asked_when_loaded = main_thread();

std::atomic<uint64_t> process_seed{0};

/// The key's top byte selects the stream and the next one the thread, so small seeds never collide.
RandomState streams_of(uint64_t seed, uint64_t thread) {
  RandomState all;
  for (uint64_t i = 0; i < kStreams; ++i) all[i] = Generator(seed + (i << 56) + (thread << 48));
  return all;
}

RandomState first_streams() {
  if (std::this_thread::get_id() != main_thread()) return streams_of(process_seed, 1);
  return {Generator(0), Generator(1), Generator(2), Generator(3)};
}

RandomState& streams() {
  thread_local RandomState all = first_streams();
  return all;
}

}  // namespace

Generator& generator(Stream stream) { return streams()[static_cast<size_t>(stream)]; }

void manual_seed(uint64_t seed) {
  if (std::this_thread::get_id() == main_thread()) process_seed = seed;
  streams() = streams_of(seed, 0);
}

RandomState random_state() { return streams(); }
void set_random_state(const RandomState& state) { streams() = state; }

}  // namespace tape
