#pragma once

#include <array>
#include <cstdint>

#include "tensor.h"

namespace tape {

/// A stream of random numbers: a seed and how many numbers were drawn. The value of each draw depends on these two
/// alone (Philox4x32-10, Salmon et al. 2011), so a saved stream continues exactly, with any number of threads.
class Generator {
 public:
  Generator() = default;
  explicit Generator(uint64_t seed) : seed_(seed) {}

  uint64_t seed() const { return seed_; }
  uint64_t counter() const { return counter_; }
  void set_state(uint64_t seed, uint64_t counter) { seed_ = seed, counter_ = counter; }
  /// Takes n draws: returns the counter of the first.
  uint64_t advance(int64_t n);
  /// A whole number in [0, bound), bound >= 1.
  int64_t below(int64_t bound);
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  bool operator==(const Generator&) const = default;

 private:
  uint64_t seed_ = 0;
  uint64_t counter_ = 0;
};

/// Each use has a stream of its own, so that switching one off does not change another.
enum class Stream { init, dropout, shuffle, sampling };
inline constexpr int kStreams = 4;

/// This thread's generator of a use, which calls without a generator of their own draw from.
///
/// Threads share none, so they may draw at the same time. One in which manual_seed() was not called begins with the
/// streams of the process's seed (the last that manual_seed() was given in the main thread; 0 before) and number 1,
/// whichever thread it is and whatever others drew: two such threads draw the same numbers, but not the main thread's,
/// whose number is 0. Give each thread a seed of its own where they are to differ.
Generator& generator(Stream stream);
/// Restarts every stream of this thread from one seed.
void manual_seed(uint64_t seed);

/// All streams of a thread, by Stream: a value to be saved and set again.
using RandomState = std::array<Generator, kStreams>;
/// Of this thread.
RandomState random_state();
void set_random_state(const RandomState& state);

/// While in scope, this thread's streams may be used freely: at the end they are put back to where they were (as
/// torch.random.fork_rng).
class ForkRandom : NonCopyable {
 public:
  ForkRandom() : before_(random_state()) {}
  /// Begins with other streams.
  explicit ForkRandom(const RandomState& begin) : ForkRandom() { set_random_state(begin); }
  ~ForkRandom() { set_random_state(before_); }
  /// Back to where they were, within the scope.
  void rewind() const { set_random_state(before_); }

 private:
  const RandomState before_;
};

}  // namespace tape
