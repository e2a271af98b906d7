#pragma once

#include <cstdint>

namespace tape::kernels {

// Sorting does not benefit from wide vectors, so these are compiled once (float and double) and shared by the tables of
// every level; documented in index.h.

template <class T>
void sort_axis(int64_t outer, int64_t size, int64_t inner, const T* x, bool descending, T* values, int64_t* index);
template <class T>
void topk_axis(int64_t outer, int64_t size, int64_t inner, const T* x, int64_t k, bool largest, T* values,
               int64_t* index);
template <class T>
void median_axis(int64_t outer, int64_t size, int64_t inner, const T* x, T* values, int64_t* index);

}  // namespace tape::kernels
