#pragma once

#include <stdint.h>

/// What dropout does to value i: the draw at counter + i is at least `least`, and scales it, or drops it.
template <class S>
struct Dropped {
  uint64_t seed, counter;
  uint32_t least;
  S scale;
};
