#pragma once

#include <cstdint>

namespace tape::kernels {

// Plain loops, compiled once for every CPU; T is float, double or int64_t.

/// counts[id] += 1 for each id, all inside counts.
void count_ids(int64_t n, const int64_t* ids, int64_t* counts);
/// The different values of x in rising order and how often each stands there; gives their number. Each NaN is one of
/// its own, and they come last. `values` and `counts` have room for n.
template <class T>
int64_t sorted_distinct(int64_t n, const T* x, T* values, int64_t* counts);
/// Where each of x stands among the m values of sorted_distinct(x); the first NaN of x is the first of theirs.
template <class T>
void places_in_sorted(int64_t n, const T* x, int64_t m, const T* values, int64_t* places);

/// The different ones of n rows x [n, k], compared value by value from the first on, in rising order; gives their
/// number m. One that holds a NaN is one of its own. `firsts` [n] gets for each of the m the first row that is like it,
/// `counts` [n] how many are, and `places` [n] for each row of x which of the m it is.
template <class T>
int64_t distinct_rows(int64_t n, int64_t k, const T* x, int64_t* firsts, int64_t* counts, int64_t* places);

}  // namespace tape::kernels
