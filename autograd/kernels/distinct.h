#pragma once

#include <cstdint>

namespace tape::kernels {

// Plain loops, compiled once for every CPU; T is float, double, int64_t or bool.

/// counts[id] += 1 for each id, all inside counts.
void count_ids(int64_t n, const int64_t* ids, int64_t* counts);
/// The different values of x in rising order and how often each stands there; gives their number. Each NaN is one of
/// its own, and they come last. `values` and `counts` have room for n.
template <class T>
int64_t sorted_distinct(int64_t n, const T* x, T* values, int64_t* counts);
/// Where each of x stands among the m values of sorted_distinct(x); the first NaN of x is the first of theirs.
template <class T>
void places_in_sorted(int64_t n, const T* x, int64_t m, const T* values, int64_t* places);

}  // namespace tape::kernels
