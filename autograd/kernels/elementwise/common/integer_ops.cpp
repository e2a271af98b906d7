#include "autograd/kernels/elementwise/common/integer_ops.h"

#include <cstring>

#include "autograd/kernels/elementwise/compare_loop.h"
#include "autograd/kernels/elementwise/select_loop.h"
#include "autograd/kernels/reduce/column_parts.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Signed overflow wraps, because the sum is computed unsigned.
template <class F>
int64_t wrapped(int64_t x, int64_t y, const F& f) {
  return static_cast<int64_t>(f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)));
}

int64_t product(int64_t x, int64_t y) {
  return wrapped(x, y, [](uint64_t u, uint64_t v) { return u * v; });
}

/// x^y by squaring. A negative power is exact for 1 and -1, and 0 for any other base.
int64_t power(int64_t x, int64_t y) {
  if (y < 0) return x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0;
  int64_t result = 1;
  for (; y > 0; y /= 2) {
    if (y % 2 == 1) result = product(result, x);
    x = product(x, x);
  }
  return result;
}

PairLoop<int64_t, int64_t> binary_loop(Binary op) {
  constexpr auto loop_of = [](auto f) { return pair_loop_of<int64_t, int64_t>(f); };
  switch (op) {
    case Binary::add:
      return loop_of([](int64_t x, int64_t y) { return wrapped(x, y, [](uint64_t u, uint64_t v) { return u + v; }); });
    case Binary::sub:
      return loop_of([](int64_t x, int64_t y) { return wrapped(x, y, [](uint64_t u, uint64_t v) { return u - v; }); });
    case Binary::mul:
      return loop_of([](int64_t x, int64_t y) { return product(x, y); });
    case Binary::div:  // INT64_MIN / -1 overflows and wraps
      return loop_of([](int64_t x, int64_t y) {
        return y == -1 ? wrapped(0, x, [](uint64_t u, uint64_t v) { return u - v; }) : x / y;
      });
    case Binary::maximum:
      return loop_of([](int64_t x, int64_t y) { return x > y ? x : y; });
    case Binary::minimum:
      return loop_of([](int64_t x, int64_t y) { return x < y ? x : y; });
    case Binary::remainder:  // has the sign of y
      return loop_of([](int64_t x, int64_t y) {
        const int64_t rest = y == -1 ? 0 : x % y;
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
      });
    case Binary::pow:
      return loop_of([](int64_t x, int64_t y) { return power(x, y); });
    case Binary::atan2:
      break;
  }
  return nullptr;  // rejected by the caller
}

void binary_i64(Binary op, const Broadcast& plan, const int64_t* a, const int64_t* b, int64_t* out) {
  if (const auto loop = binary_loop(op)) for_pairs(plan, a, b, out, loop);
}

void compare_i64(Compare op, const Broadcast& plan, const int64_t* a, const int64_t* b, bool* out) {
  for_pairs(plan, a, b, out, compare_loop<int64_t>(op));
}

void where_bytes(const Broadcast& plan, int64_t element_size, const bool* c, const void* a, const void* b, void* out) {
  with_size(element_size, [&]<class E>(E) {
    where_loop(plan, c, static_cast<const E*>(a), static_cast<const E*>(b), static_cast<E*>(out));
  });
}

void best_i64(int64_t outer, int64_t size, int64_t inner, bool largest, const int64_t* x, int64_t* y, int64_t* index) {
  for_columns(outer, size, inner, [&](int64_t o, int64_t first, int64_t columns) {
    int64_t at[kMostColumns] = {};
    const int64_t* from = x + o * size * inner + first;
    int64_t* best = y + o * inner + first;
    for (int64_t i = 0; i < columns; ++i) best[i] = from[i];
    for (int64_t s = 1; s < size; ++s) {
      const int64_t* row = from + s * inner;
      for (int64_t i = 0; i < columns; ++i) {
        const bool better = largest ? row[i] > best[i] : row[i] < best[i];
        best[i] = better ? row[i] : best[i];
        at[i] = better ? s : at[i];
      }
    }
    for (int64_t i = 0; index && i < columns; ++i) index[o * inner + first + i] = at[i];
  });
}

/// y = op over all of x, starting from `start`.
template <class Op>
void fold_i64(int64_t outer, int64_t size, int64_t inner, int64_t start, const int64_t* x, int64_t* y, const Op& op) {
  for_columns(outer, size, inner, [&](int64_t o, int64_t first, int64_t columns) {
    int64_t* result = y + o * inner + first;
    for (int64_t i = 0; i < columns; ++i) result[i] = start;
    for (int64_t s = 0; s < size; ++s) {
      const int64_t* row = x + (o * size + s) * inner + first;
      for (int64_t i = 0; i < columns; ++i) result[i] = wrapped(result[i], row[i], op);
    }
  });
}

void sum_i64(int64_t outer, int64_t size, int64_t inner, const int64_t* x, int64_t* y) {
  fold_i64(outer, size, inner, 0, x, y, [](uint64_t u, uint64_t v) { return u + v; });
}

void product_i64(int64_t outer, int64_t size, int64_t inner, const int64_t* x, int64_t* y) {
  fold_i64(outer, size, inner, 1, x, y, [](uint64_t u, uint64_t v) { return u * v; });
}

void any_true(int64_t outer, int64_t size, int64_t inner, const bool* x, bool* y) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(x);
  auto* any = reinterpret_cast<unsigned char*>(y);
  for_columns(outer, size, inner, [&](int64_t o, int64_t first, int64_t columns) {
    const unsigned char* from = bytes + o * size * inner + first;
    unsigned char* to = any + o * inner + first;
    if (inner == 1) {
      *to = size > 0 && std::memchr(from, 1, static_cast<size_t>(size)) ? 1 : 0;
      return;
    }
    for (int64_t i = 0; i < columns; ++i) to[i] = 0;
    for (int64_t s = 0; s < size; ++s)
      for (int64_t i = 0; i < columns; ++i) to[i] = static_cast<unsigned char>(to[i] | from[s * inner + i]);
  });
}
}  // namespace

extern const IntegerKernels integer_ops = {.binary = binary_i64,
                                           .compare = compare_i64,
                                           .where = where_bytes,
                                           .best = best_i64,
                                           .sum = sum_i64,
                                           .product = product_i64,
                                           .any = any_true};

}  // namespace tape::kernels::TAPE_LEVEL
