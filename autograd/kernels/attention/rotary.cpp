#include "autograd/kernels/attention/rotary.h"

#include "autograd/kernels/runtime/level.h"
#include "autograd/kernels/vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Rotates pairs i and i + n.
template <class T>
TAPE_INLINE void turn_halves(int64_t n, const T* x, const T* c, const T* s, T* y) {
  const auto turned = [](Vec<T> u, Vec<T> v, Vec<T> cosine, Vec<T> sine, Vec<T>& to_u, Vec<T>& to_v) {
    to_u = u * cosine - v * sine;
    to_v = u * sine + v * cosine;
  };
  constexpr int kStep = kLanes<T>;
  Vec<T> u, v;
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    turned(load(x + i), load(x + n + i), load(c + i), load(s + i), u, v);
    store(y + i, u);
    store(y + n + i, v);
  }
  if (const int64_t rest = n - i; rest > 0) {
    turned(load_first(x + i, rest), load_first(x + n + i, rest), load_first(c + i, rest), load_first(s + i, rest), u,
           v);
    store_first(y + i, u, rest);
    store_first(y + n + i, v, rest);
  }
}

/// Rotates pairs 2i and 2i + 1.
template <class T>
TAPE_INLINE void turn_neighbours(int64_t n, const T* x, const T* c, const T* s, T* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) {
    const T u = x[2 * i], v = x[2 * i + 1];
    y[2 * i] = u * c[i] - v * s[i];
    y[2 * i + 1] = u * s[i] + v * c[i];
  }
}

template <class T>
void turn(const RotaryShape& r, const T* x, const T* cosine, const T* sine, T* y) {
  const int64_t row = r.heads * r.width, still = r.width - 2 * r.pairs;
  for_chunks(r.texts * r.length, row, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const int64_t table = at / r.length * r.next_text + at % r.length * r.pairs;
      const T *c = cosine + table, *s = sine + table;
      for (int64_t head = at * row; head < (at + 1) * row; head += r.width) {
        if (r.interleaved)
          turn_neighbours(r.pairs, x + head, c, s, y + head);
        else
          turn_halves(r.pairs, x + head, c, s, y + head);
        if (still && x != y)
          __builtin_memcpy(y + head + 2 * r.pairs, x + head + 2 * r.pairs, static_cast<uint64_t>(still) * sizeof(T));
      }
    }
  });
}

}  // namespace

TAPE_DEFINE_TABLES(RotaryKernels, rotary, .turn = turn<T>)

}  // namespace tape::kernels::TAPE_LEVEL
