#pragma once

#include <cstdint>

namespace tape::kernels {

// Sorting gains nothing from wide vectors: compiled once (float and double), and pointed to by the tables of every
// level.

template <class T>
void sort_axis(int64_t outer, int64_t size, int64_t inner, const T* x, bool descending, T* values, int64_t* index);
template <class T>
void topk_axis(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, bool largest, T* values,
               int64_t* index);
/// The middle of each line in order (of an even number the lower one) into values [outer, inner], and where it stands
/// first; NaN where there is one. size >= 1.
template <class T>
void median_axis(int64_t outer, int64_t size, int64_t inner, const T* x, T* values, int64_t* index);

}  // namespace tape::kernels
