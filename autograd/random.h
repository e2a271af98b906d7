#pragma once

#include <array>
#include <cstdint>

#include "tensor.h"

namespace tape {

/// A counter-based random number generator: a seed and the number of values drawn. Each value depends only on these two
/// (Philox4x32-10, Salmon et al. 2011), so a saved generator continues exactly, with any number of threads.
class Generator {
 public:
  Generator() = default;
  /// Starts at the first value of a seed. A default-constructed generator has seed 0.
  explicit Generator(uint64_t seed) : seed_(seed) {}

  uint64_t seed() const { return seed_; }        ///< as passed to the constructor or set_state()
  uint64_t counter() const { return counter_; }  ///< number of values drawn
  /// Continues after the first `counter` values of a seed.
  void set_state(uint64_t seed, uint64_t counter) { seed_ = seed, counter_ = counter; }
  /// Advances the counter by n and returns its previous value.
  uint64_t advance(int64_t n);
  /// Uniform integer in [0, bound), bound >= 1.
  int64_t below(int64_t bound);
  /// Uniform in [0, 1), 53 bits.
  double uniform();
  /// Whether both will draw the same values.
  bool operator==(const Generator&) const = default;

 private:
  uint64_t seed_ = 0;
  uint64_t counter_ = 0;
};

/// Each purpose has its own stream, so that disabling one does not change the others.
enum class Stream { init, dropout, shuffle, sampling };
inline constexpr int kStreams = 4;  ///< number of streams

/// This thread's default generator for a stream.
///
/// Generators are thread-local, so threads can draw concurrently. A thread that never called manual_seed() starts from
/// the process seed (the last one that the main thread passed to manual_seed(), 0 by default) with thread number 1,
/// whichever thread it is: all such threads draw the same values, which differ from the main thread's (thread number
/// 0). Call manual_seed() with a different seed in each thread to make them differ.
Generator& generator(Stream stream);
/// Resets every stream of this thread to a seed.
void manual_seed(uint64_t seed);

/// State of all streams of a thread, indexed by Stream; can be saved and restored.
using RandomState = std::array<Generator, kStreams>;
/// State of this thread.
RandomState random_state();
/// Restores the streams of this thread.
void set_random_state(const RandomState& state);

/// Saves this thread's streams and restores them at the end of the scope (torch.random.fork_rng).
class ForkRandom : NonCopyable {
 public:
  ForkRandom() : before_(random_state()) {}
  /// Starts the scope with the given state.
  explicit ForkRandom(const RandomState& begin) : ForkRandom() { set_random_state(begin); }
  ~ForkRandom() { set_random_state(before_); }
  /// Restores the saved state before the scope ends.
  void rewind() const { set_random_state(before_); }

 private:
  const RandomState before_;
};

}  // namespace tape
