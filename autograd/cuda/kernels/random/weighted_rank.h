#pragma once

// Finding places in lists of masses (weights as integers) by all threads of a block. Integers have the same sums in any
// order, so the results do not depend on the order of threads. A block has whole warps along x.

#include "../device.h"

namespace weighted_rank {

using Mass = unsigned long long;

constexpr int kDigits = 256;    // of 8 bits
constexpr int kListed = 1024;   // keys that are kept when only so many are left
constexpr int kMostWarps = 32;  // of a block
constexpr int kTogether = 8;    // values that a thread reads at once, to hide latency

/// Shared memory of boundary_of() and first_beyond().
struct Workspace {
  unsigned low[kDigits], high[kDigits];  // halves of the mass of each digit: shared memory adds 32 bits at once
  uint64_t keys[kListed];
  unsigned count;  // of keys that were to be listed
  int digit;
  Mass below, of_warps[kMostWarps];
  bool exists;
};

__device__ inline int lane() { return static_cast<int>(threadIdx.x) % 32; }
__device__ inline int warp() { return static_cast<int>(threadIdx.x) / 32; }
__device__ inline int64_t threads() { return static_cast<int64_t>(blockDim.x); }

/// Calls use(i, x[i]) for this thread's part of n values, and with i = n where it has one less than other threads, so
/// that the threads of a warp call together. `use` may change x[i].
template <class T, class Use>
__device__ void for_values(const T* x, int64_t n, const Use& use) {
  for (int64_t first = threadIdx.x; first - threadIdx.x < n; first += kTogether * threads()) {
    T values[kTogether];
    TAPE_UNROLL for (int j = 0; j < kTogether; ++j) {
      const int64_t i = first + j * threads();
      values[j] = i < n ? x[i] : T(0);
    }
    TAPE_UNROLL for (int j = 0; j < kTogether; ++j) {
      const int64_t i = first + j * threads();
      if (i - threadIdx.x < n) use(i < n ? i : n, values[j]);
    }
  }
}

__device__ inline Mass sum_of_warp(Mass mass) {
  for (int bits = 16; bits > 0; bits /= 2) mass += __shfl_xor_sync(~0U, mass, bits);
  return mass;
}
/// Sum of the lanes up to this one.
__device__ inline Mass sum_up_to_lane(Mass mass) {
  for (int step = 1; step < 32; step *= 2) {
    const Mass before = __shfl_up_sync(~0U, mass, step);
    if (lane() >= step) mass += before;
  }
  return mass;
}

__device__ inline Mass mass_of_digit(const Workspace& w, int digit) {
  return static_cast<Mass>(w.high[digit]) << 32 | w.low[digit];
}
__device__ inline void add_to_digit(Workspace& w, int digit, Mass mass) {
  const auto low = static_cast<unsigned>(mass);
  const unsigned carry = atomicAdd(&w.low[digit], low) > ~low ? 1 : 0;
  const unsigned high = static_cast<unsigned>(mass >> 32) + carry;
  if (high) atomicAdd(&w.high[digit], high);
}
/// Adds the masses of a warp's lanes: at once if they have the same digit, as most keys do at first.
__device__ inline void add_of_warp(Workspace& w, bool has_mass, int digit, Mass mass) {
  const unsigned lanes = __ballot_sync(~0U, has_mass);
  if (lanes == 0) return;
  const int first = __shfl_sync(~0U, digit, __ffs(static_cast<int>(lanes)) - 1);
  if (__all_sync(~0U, !has_mass || digit == first)) {
    mass = sum_of_warp(has_mass ? mass : 0);
    if (lane() == 0) add_to_digit(w, first, mass);
  } else if (has_mass) {
    add_to_digit(w, digit, mass);
  }
}

/// By the first warp: the digit in which the mass, added to `below`, exceeds the limit, and the mass before it.
__device__ inline void find_digit(Workspace& w, Mass below, Mass limit) {
  constexpr int kPerLane = kDigits / 32;
  Mass mine = 0;
  for (int i = 0; i < kPerLane; ++i) mine += mass_of_digit(w, kPerLane * lane() + i);
  const Mass end = below + sum_up_to_lane(mine);
  const unsigned beyond = __ballot_sync(~0U, end > limit);
  if (lane() == 0) w.exists = beyond != 0;
  if (beyond == 0 || lane() != __ffs(static_cast<int>(beyond)) - 1) return;
  int digit = kPerLane * lane();
  Mass before = end - mine;
  while (before + mass_of_digit(w, digit) <= limit) before += mass_of_digit(w, digit++);
  w.digit = digit;
  w.below = before;
}

/// The smallest key for which the mass of the keys up to it exceeds a limit, and the mass of smaller keys.
struct Boundary {
  uint64_t key;
  Mass below;
  bool exists;
};

/// The boundary of the keys of x [n]: key_at(i, x[i], key) sets a key or returns false, mass_of(key) is its mass. Finds
/// the key digit by digit, 8 bits at a time. All threads get the result.
template <class KeyAt, class MassOf>
__device__ Boundary boundary_of(const double* x, int64_t n, Mass limit, const KeyAt& key_at, const MassOf& mass_of,
                                Workspace& w) {
  Boundary found{0, 0, true};
  bool listed = false;
  for (int shift = 56; shift >= 0; shift -= 8) {
    // Most keys still match after one digit or two, and would not fit.
    const bool list = !listed && (shift < 48 || n <= kListed);
    __syncthreads();  // the digits before may still be read
    for (int64_t digit = threadIdx.x; digit < kDigits; digit += threads()) w.low[digit] = w.high[digit] = 0;
    if (list && threadIdx.x == 0) w.count = 0;
    __syncthreads();
    const auto add = [&](bool has_key, uint64_t key) {
      has_key = has_key && (shift == 56 || key >> (shift + 8) == found.key >> (shift + 8));
      add_of_warp(w, has_key, static_cast<int>(key >> shift & (kDigits - 1)), has_key ? mass_of(key) : 0);
      return has_key;
    };
    if (listed) {
      for (int64_t first = 0; first < n; first += threads()) {
        const int64_t i = first + threadIdx.x;
        add(i < n, i < n ? w.keys[i] : 0);
      }
    } else {
      for_values(x, n, [&](int64_t i, double value) {
        uint64_t key = 0;
        const bool has_key = i < n && key_at(i, value, key);
        if (!add(has_key, key) || !list) return;
        const unsigned at = atomicAdd(&w.count, 1U);
        if (at < kListed) w.keys[at] = key;
      });
    }
    __syncthreads();
    if (list && w.count <= kListed) {
      listed = true;
      n = w.count;
    }
    if (threadIdx.x < 32) find_digit(w, found.below, limit);
    __syncthreads();
    if (!w.exists) return {0, 0, false};
    found.below = w.below;
    found.key |= static_cast<uint64_t>(w.digit) << shift;
  }
  return found;
}

/// The first i of [0, n) for which the masses up to mass_at(i) exceed `target`, which must be below the sum of all. The
/// warps add up a part each, until a part is left that one warp adds up. All threads get the result.
template <class MassAt>
__device__ int64_t first_beyond(int64_t n, Mass target, const MassAt& mass_at, Workspace& w) {
  const int warps = static_cast<int>(threads() / 32);
  int64_t begin = 0, end = n;
  while (end - begin > 32) {
    const int64_t part = (end - begin + warps - 1) / warps, from = begin + warp() * part;
    Mass sum = 0;
    for (int64_t i = from + lane(); i < from + part && i < end; i += 32) sum += mass_at(i);
    sum = sum_of_warp(sum);
    __syncthreads();  // the sums before may still be read
    if (lane() == 0) w.of_warps[warp()] = sum;
    __syncthreads();
    int chosen = 0;
    while (chosen < warps - 1 && target >= w.of_warps[chosen]) target -= w.of_warps[chosen++];
    begin += chosen * part;
    end = begin + part < end ? begin + part : end;
  }
  const int64_t i = begin + lane();
  const unsigned beyond = __ballot_sync(~0U, sum_up_to_lane(i < end ? mass_at(i) : 0) > target);
  return begin + __ffs(static_cast<int>(beyond)) - 1;
}

}  // namespace weighted_rank
