#include "autograd/kernels/reduce/fold.h"

#include "autograd/kernels/reduce/reduce_columns.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class V>
TAPE_INLINE V size_of_value(V v) {
  return v < 0 ? -v : v;
}
TAPE_INLINE float power(float a, float b) { return __builtin_powf(a, b); }
TAPE_INLINE double power(double a, double b) { return __builtin_pow(a, b); }

struct Size {
  TAPE_MEMBER auto operator()(auto v) const { return size_of_value(v); }
};
struct Square {
  TAPE_MEMBER auto operator()(auto v) const { return v * v; }
};
struct Number {
  TAPE_MEMBER auto operator()(auto v) const { return v == v ? v : decltype(v){}; }
};
template <class T>
struct Power {
  T p;
  TAPE_MEMBER T operator()(T v) const { return power(size_of_value(v), p); }
  TAPE_MEMBER Vec<T> operator()(Vec<T> v) const {
    for (int i = 0; i < kLanes<T>; ++i) v[i] = power(size_of_value(v[i]), p);
    return v;
  }
};

template <class Term, class T>
void sum_of(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  sum_terms(outer, size, inner, x, y, Term());
}
template <class T>
void sum_of_abs_powers(int64_t outer, int64_t size, int64_t inner, const T* x, double p, T* y) {
  sum_terms(outer, size, inner, x, y, Power<T>{static_cast<T>(p)});
}

/// Pairwise, in blocks of 512.
template <class T>
T squares_around(int64_t n, const T* x, T centre) {
  constexpr int64_t kBlock = 512;
  if (n > kBlock) {
    const int64_t first = ceil_div(n / 2, kBlock) * kBlock;
    const T sum = squares_around(first, x, centre);
    return sum + squares_around(n - first, x + first, centre);
  }
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < n; ++i) sum += (x[i] - centre) * (x[i] - centre);
  return sum;
}

template <class T>
void sum_of_squared_deviations(int64_t outer, int64_t size, int64_t inner, const T* x, const T* centre, T* y) {
  if (outer == 0 || inner == 0) return;
  const bool parallel = outer * size * inner > 2 * kChunk;
  if (inner > 1) {
    const int64_t tiles = ceil_div(inner, kTile);
    for_tasks(outer * tiles, parallel, [&](int64_t task) {
      const int64_t o = task / tiles, column = task % tiles * kTile, at = o * inner + column;
      const int64_t width = smaller(kTile, inner - column);
      if (size == 0) {
        for (int64_t i = 0; i < width; ++i) y[at + i] = 0;
        return;
      }
      const T* around = centre + at;
      sum_columns(size, inner, width, x + o * size * inner + column, y + at,
                  [around](T value, int64_t i) { return (value - around[i]) * (value - around[i]); });
    });
    return;
  }
  // Long rows are reduced in chunks, and the results combined.
  const int64_t chunks = larger(1, ceil_div(size, kChunk));
  if (chunks == 1) {
    for_chunks(outer, size, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) y[o] = squares_around(size, x + o * size, centre[o]);
    });
    return;
  }
  Scratch<T> partial(outer * chunks);
  for_tasks(outer * chunks, parallel, [&](int64_t task) {
    const int64_t o = task / chunks, begin = task % chunks * kChunk;
    partial[task] = squares_around(smaller(kChunk, size - begin), x + o * size + begin, centre[o]);
  });
  sum_rows(outer, chunks, partial.data(), y);
}

struct Times {
  TAPE_MEMBER auto operator()(auto a, auto b) const { return a * b; }
};

template <class T>
T product_of_row(int64_t n, const T* x) {
  constexpr int kStep = kLanes<T>;
  Vec<T> a = fill(T(1)), b = a;
  int64_t i = 0;
  for (; i + 2 * kStep <= n; i += 2 * kStep) {
    a *= load(x + i);
    b *= load(x + i + kStep);
  }
  for (; i < n; i += kStep) a *= load_first_or_all(x + i, n - i, T(1));
  return fold(a * b, Times());
}

/// Works on tiles of columns; rows are reduced in chunks of a fixed size, whose products are multiplied in the same
/// way.
template <class T>
void product(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  if (outer == 0 || inner == 0) return;
  const int64_t tiles = ceil_div(inner, kTile), chunk = inner == 1 ? kChunk : larger(32, 2 * kChunk / inner);
  const int64_t chunks = larger(1, ceil_div(size, chunk));
  if (inner == 1 && chunks == 1) {
    for_chunks(outer, size, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) y[o] = product_of_row(size, x + o * size);
    });
    return;
  }
  Scratch<T> partial(chunks > 1 ? outer * chunks * inner : 1);
  T* to = chunks > 1 ? partial.data() : y;
  for_tasks(outer * chunks * tiles, outer * size * inner > 2 * kChunk, [&](int64_t task) {
    const int64_t o = task / (chunks * tiles), c = task / tiles % chunks, column = task % tiles * kTile;
    const int64_t rows = smaller(chunk, size - c * chunk), width = smaller(kTile, inner - column);
    const T* from = x + (o * size + c * chunk) * inner + column;
    T* into = to + (o * chunks + c) * inner + column;
    if (inner == 1) {
      *into = product_of_row(rows, from);
      return;
    }
    for (int64_t i = 0; i < width; ++i) into[i] = 1;
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = from + r * inner;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) into[i] *= row[i];
    }
  });
  if (chunks > 1) product(outer, chunks, inner, to, y);
}

/// Product of all values except one: that of all nonzero values, unless another one is zero.
template <class T>
TAPE_INLINE T without(T x, T zeros, T others) {
  const T divided = others / (x == 0 ? T(1) : x);
  return zeros == 0 ? divided : (((zeros == 1) & (x == 0)) ? others : T(0));
}

/// Whether a product can be divided by its factors: it is finite and did not underflow to 0.
template <class T>
bool divisible(T product) {
  return product != 0 && product - product == 0;
}

/// dx[s] = dy times the product of the others, without a division.
template <class T>
void product_of_others(int64_t size, int64_t stride, const T* x, T dy, T* dx) {
  T before = 1;
  for (int64_t s = 0; s < size; ++s) {
    dx[s * stride] = before;
    before *= x[s * stride];
  }
  T behind = 1;
  for (int64_t s = size - 1; s >= 0; --s) {
    dx[s * stride] = dy * (dx[s * stride] * behind);
    behind *= x[s * stride];
  }
}

template <class T>
void product_backward_row(int64_t size, const T* x, T dy, T* dx) {
  T zeros = 0, others = 1;
#pragma omp simd reduction(+ : zeros) reduction(* : others)
  for (int64_t s = 0; s < size; ++s) {
    zeros += x[s] == 0 ? T(1) : T(0);
    others *= x[s] == 0 ? T(1) : x[s];
  }
  if (!divisible(others)) return product_of_others(size, 1, x, dy, dx);
#pragma omp simd
  for (int64_t s = 0; s < size; ++s) dx[s] = dy * without(x[s], zeros, others);
}

template <class T>
void product_backward(int64_t outer, int64_t size, int64_t inner, const T* x, const T* dy, T* dx) {
  if (inner == 1) {
    for_chunks(outer, size, [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) product_backward_row(size, x + o * size, dy[o], dx + o * size);
    });
    return;
  }
  const int64_t tiles = ceil_div(inner, kTile);
  for_tasks(outer * tiles, outer * size * inner > 2 * kChunk, [&](int64_t task) {
    const int64_t o = task / tiles, column = task % tiles * kTile, width = smaller(kTile, inner - column);
    const int64_t start = o * size * inner + column;
    const T* seed = dy + o * inner + column;
    T zeros[kTile], others[kTile];
    for (int64_t i = 0; i < width; ++i) zeros[i] = 0, others[i] = 1;
    for (int64_t s = 0; s < size; ++s) {
      const T* row = x + start + s * inner;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        zeros[i] += row[i] == 0 ? T(1) : T(0);
        others[i] *= row[i] == 0 ? T(1) : row[i];
      }
    }
    for (int64_t s = 0; s < size; ++s) {
      const T* row = x + start + s * inner;
      T* to = dx + start + s * inner;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) to[i] = seed[i] * without(row[i], zeros[i], others[i]);
    }
    for (int64_t i = 0; i < width; ++i)
      if (!divisible(others[i])) product_of_others(size, inner, x + start + i, seed[i], dx + start + i);
  });
}
}  // namespace

TAPE_DEFINE_TABLES(FoldKernels, fold_axis, .sum_of_abs = sum_of<Size, T>, .sum_of_squares = sum_of<Square, T>,
                   .sum_of_squared_deviations = sum_of_squared_deviations<T>, .sum_of_abs_powers = sum_of_abs_powers<T>,
                   .nansum = sum_of<Number, T>, .product = product<T>, .product_backward = product_backward<T>)

}  // namespace tape::kernels::TAPE_LEVEL
