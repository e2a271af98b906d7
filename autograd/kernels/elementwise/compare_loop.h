#pragma once

// Comparisons, for floating-point values and integers.

#include "broadcast_loops.h"
#include "elementwise.h"

namespace tape::kernels::TAPE_LEVEL {

template <class T>
PairLoop<T, bool> compare_loop(Compare op) {
  switch (op) {
    case Compare::eq:
      return pair_loop_of<T, bool>([](T x, T y) { return x == y; });
    case Compare::ne:
      return pair_loop_of<T, bool>([](T x, T y) { return x != y; });
    case Compare::lt:
      return pair_loop_of<T, bool>([](T x, T y) { return x < y; });
    case Compare::le:
      return pair_loop_of<T, bool>([](T x, T y) { return x <= y; });
    case Compare::gt:
      return pair_loop_of<T, bool>([](T x, T y) { return x > y; });
    case Compare::ge:
      break;
  }
  return pair_loop_of<T, bool>([](T x, T y) { return x >= y; });
}

}  // namespace tape::kernels::TAPE_LEVEL
