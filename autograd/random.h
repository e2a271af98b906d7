#pragma once

#include <cstdint>

#include "tensor.h"

namespace tape {

/// A stream of random numbers: a seed and how many numbers were drawn. The value of each draw depends on these two
/// alone (Philox4x32-10, Salmon et al. 2011), so a saved stream continues exactly, with any number of threads.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0) : seed_(seed) {}

  uint64_t seed() const { return seed_; }
  uint64_t counter() const { return counter_; }
  void set_state(uint64_t seed, uint64_t counter) { seed_ = seed, counter_ = counter; }
  /// Takes n draws: returns the counter of the first.
  uint64_t advance(int64_t n);
  /// A whole number in [0, bound), bound >= 1.
  int64_t below(int64_t bound);
  /// Uniform in [0, 1), 53 bits.
  double uniform();

 private:
  uint64_t seed_ = 0;
  uint64_t counter_ = 0;
};

/// Each use has a stream of its own, so that switching one off does not change another.
enum class Stream { init, dropout, shuffle, sampling };
inline constexpr int kStreams = 4;

/// The current generator of a use, shared by all threads' default calls.
Generator& generator(Stream stream);
/// Restarts every stream from one seed.
void manual_seed(uint64_t seed);

}  // namespace tape
