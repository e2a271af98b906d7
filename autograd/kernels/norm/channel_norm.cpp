#include "autograd/kernels/norm/channel_norm.h"

#include "autograd/kernels/reduce/pairwise_rows.h"
#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// body(where values begin, how many, numbers of these) for stretches of values: planes with one number each (a step
/// of 0), or, where a plane is a single value, rows of channels with one number a value.
template <class Body>
TAPE_INLINE void for_planes(const ChannelPlanes& s, const Body& body) {
  const bool per_plane = s.numbers == ChannelPlanes::Numbers::of_plane;
  if (s.size == 1) {
    for_chunks(s.outer, 2 * s.channels, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) body(n * s.channels, s.channels, per_plane ? n * s.channels : 0, true);
    });
    return;
  }
  for_chunks(s.outer * s.channels, 2 * s.size, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) body(p * s.size, s.size, per_plane ? p : p % s.channels, false);
  });
}

template <class T>
void apply(const ChannelPlanes& s, const T* x, const T* mean, const T* scale, const T* shift, T* y) {
  for_planes(s, [&](int64_t at, int64_t n, int64_t number, bool one_each) {
    const T *m = mean + number, *a = scale + number, *b = shift + number;
    if (one_each)
      map_row(n, x + at, y + at, [&](Vec<T> v, int64_t i) {
        return (v - load_up_to(m, i, n)) * load_up_to(a, i, n) + load_up_to(b, i, n);
      });
    else
      map_row(n, x + at, y + at, [m = *m, a = *a, b = *b](Vec<T> v, int64_t) { return (v - m) * a + b; });
  });
}

template <class T>
void gradient(const ChannelPlanes& s, const T* x, const T* mean, const T* dy, const T* scale, const T* slope,
              const T* shift, T* dx) {
  for_planes(s, [&](int64_t at, int64_t n, int64_t number, bool one_each) {
    const T *m = mean + number, *a = scale + number, *b = slope + number, *c = shift + number, *from = x + at;
    if (one_each)
      map_row(n, dy + at, dx + at, [&](Vec<T> g, int64_t i) {
        return g * load_up_to(a, i, n) + (load_up_to(from, i, n) - load_up_to(m, i, n)) * load_up_to(b, i, n) +
               load_up_to(c, i, n);
      });
    else
      map_row(n, dy + at, dx + at, [&, m = *m, a = *a, b = *b, c = *c](Vec<T> g, int64_t i) {
        return g * a + (load_up_to(from, i, n) - m) * b + c;
      });
  });
}

/// Of planes that are a single value: rows are added one after the other in chunks, the chunks pairwise.
template <class T>
TAPE_INLINE void sums_of_rows(const ChannelPlanes& s, const T* x, const T* mean, const T* dy, T* dy_sum,
                              T* product_sum) {
  constexpr int64_t kMostRows = 256;
  const int64_t width = s.channels, chunk = larger(1, smaller(kMostRows, kChunk / larger(1, width)));
  const int64_t chunks = divide_up(s.outer, chunk);
  const Scratch<T> partial(larger(1, chunks) * 2 * width);
  __builtin_memset(partial.data(), 0, static_cast<uint64_t>(larger(1, chunks) * 2 * width) * sizeof(T));
  for_tasks(chunks, chunks > 2, [&](int64_t c) {
    T *g = partial.data() + c * 2 * width, *product = g + width;
    for (int64_t n = c * chunk; n < smaller(s.outer, (c + 1) * chunk); ++n) {
      const T *row = x + n * width, *dy_row = dy + n * width;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) {
        g[i] += dy_row[i];
        product[i] += dy_row[i] * (row[i] - mean[i]);
      }
    }
  });
  add_pairwise(chunks, 2 * width, partial.data());
  __builtin_memcpy(dy_sum, partial.data(), static_cast<uint64_t>(width) * sizeof(T));
  __builtin_memcpy(product_sum, partial.data() + width, static_cast<uint64_t>(width) * sizeof(T));
}

template <class T>
void sums(const ChannelPlanes& s, const T* x, const T* mean, const T* dy, T* dy_sum, T* product_sum) {
  const bool per_plane = s.numbers == ChannelPlanes::Numbers::of_plane;
  if (s.size == 1 && !per_plane) return sums_of_rows(s, x, mean, dy, dy_sum, product_sum);
  const int64_t planes = s.outer * s.channels;
  const Scratch<T> room(per_plane ? 1 : 2 * planes);
  T* const g = per_plane ? dy_sum : room.data();
  T* const products = per_plane ? product_sum : room.data() + planes;
  for_chunks(planes, 2 * s.size, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T *from = x + p * s.size, *dy_plane = dy + p * s.size, m = mean[per_plane ? p : p % s.channels];
      g[p] = static_cast<T>(row_sum(s.size, dy_plane, T(0), [](Vec<T> v, int64_t) { return v; }));
      products[p] = static_cast<T>(
          row_sum(s.size, dy_plane, T(0), [&](Vec<T> v, int64_t i) { return v * (load_up_to(from, i, s.size) - m); }));
    }
  });
  if (per_plane) return;
  const auto finish = [&](T* all, T* to) {
    if (s.outer == 0) return void(__builtin_memset(to, 0, static_cast<uint64_t>(s.channels) * sizeof(T)));
    add_pairwise(s.outer, s.channels, all);
    __builtin_memcpy(to, all, static_cast<uint64_t>(s.channels) * sizeof(T));
  };
  finish(g, dy_sum);
  finish(products, product_sum);
}
}  // namespace

extern const ChannelNormKernels<float> channel_norm_f32 = {apply<float>, sums<float>, gradient<float>};
extern const ChannelNormKernels<double> channel_norm_f64 = {apply<double>, sums<double>, gradient<double>};

}  // namespace tape::kernels::TAPE_LEVEL
