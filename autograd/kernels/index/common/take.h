#pragma once

#include <cstdint>

namespace tape::kernels {

// Indices are checked by the caller (first_outside). x is [outer, size, inner] throughout, of elements of 1, 2, 4 or 8
// bytes.

/// y [outer, count, inner] = x[o, index[c], i]. Reads x and index, writes all of y.
void take(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
          const int64_t* index, void* y);
/// y [outer, count, inner] = x[o, index[o, c, i], i]. Reads x and index, writes all of y.
void gather(int64_t outer, int64_t size, int64_t inner, int64_t element_size, const void* x, int64_t count,
            const int64_t* index, void* y);
/// x[o, index[c], i] = y [outer, count, inner], in order c = 0, 1, ...: of repeated places the last stays.
void put(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count, const int64_t* index,
         const void* y);
/// x[o, index[o, c, i], i] = y [outer, count, inner], in the same order.
void scatter(int64_t outer, int64_t size, int64_t inner, int64_t element_size, void* x, int64_t count,
             const int64_t* index, const void* y);
/// last[o, c, i] = whether no later c has the place index[o, c, i]. Gives whether any place is repeated.
bool mark_last(int64_t outer, int64_t size, int64_t inner, int64_t count, const int64_t* index, bool* last);
/// The first place whose index is outside [low, size), or -1.
int64_t first_outside(int64_t n, const int64_t* index, int64_t low, int64_t size);
/// wrapped[i] = index[i], or index[i] + size where it is negative.
void wrap_negative(int64_t n, const int64_t* index, int64_t size, int64_t* wrapped);

/// How many of n flags are set.
int64_t count_true(int64_t n, const bool* flags);
/// Where they are, in order: all count_true() places.
void true_places(int64_t n, const bool* flags, int64_t* places);
/// index [n, rank]: the positions of a row-major array of these sizes as indices.
void unravel(int64_t n, const int64_t* positions, int rank, const int64_t* sizes, int64_t* index);

}  // namespace tape::kernels
