#pragma once

#include <vector>

#include "autograd/kernels/elementwise/broadcast.h"

namespace tape::kernels {

/// Broadcasts of 0, 1, 31, 33 and 1000 elements and of several axes, with operands that repeat.
inline std::vector<Broadcast> broadcasts() {
  std::vector<Broadcast> plans = {{}};  // one element
  for (const int64_t n : {0, 1, 31, 33, 1000}) {
    plans.push_back({.rank = 1, .sizes = {n}, .strides = {{1}, {1}, {1}}});
    plans.push_back({.rank = 1, .sizes = {n}, .strides = {{1}, {0}, {0}}});
    plans.push_back({.rank = 1, .sizes = {n}, .strides = {{0}, {1}, {1}}});
  }
  plans.push_back({.rank = 2, .sizes = {9, 33}, .strides = {{33, 1}, {0, 1}, {1, 0}}});
  plans.push_back({.rank = 2, .sizes = {33, 31}, .strides = {{1, 0}, {31, 1}, {0, 1}}});
  plans.push_back({.rank = 2, .sizes = {0, 31}, .strides = {{31, 1}, {31, 1}, {31, 1}}});
  plans.push_back({.rank = 3, .sizes = {3, 5, 7}, .strides = {{7, 0, 1}, {0, 7, 1}, {35, 7, 1}}});
  plans.push_back({.rank = 4, .sizes = {2, 3, 5, 7}, .strides = {{0, 35, 0, 1}, {15, 0, 1, 0}, {0, 5, 1, 0}}});
  plans.push_back({.rank = 8,
                   .sizes = {2, 1, 2, 3, 2, 2, 2, 3},
                   .strides = {{1, 0, 2, 0, 4, 0, 8, 0}, {0, 1, 0, 1, 0, 3, 0, 6}, {1, 0, 0, 0, 0, 0, 0, 2}}});
  return plans;
}

/// Number of elements of the output.
inline int64_t outputs(const Broadcast& plan) {
  int64_t n = 1;
  for (int d = 0; d < plan.rank; ++d) n *= plan.sizes[d];
  return n;
}
/// Number of elements that an operand must have.
inline int64_t elements(const Broadcast& plan, int operand) {
  int64_t last = 0;
  for (int d = 0; d < plan.rank; ++d) last += (plan.sizes[d] - 1) * plan.strides[operand][d];
  return last < 0 ? 0 : last + 1;
}

}  // namespace tape::kernels
