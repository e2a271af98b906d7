#include "autograd/kernels/convolution/im2col.h"

#include "autograd/kernels/convolution/window_inside.h"
#include "autograd/kernels/vector/vec.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Calls see(to, begin, end, inside, from) for each run of a column-matrix row that comes from windows [begin, end) of
/// one row of windows: `inside` are those whose value lies inside the image (possibly none), `from` is the index in x
/// of the value of window 0.
template <class See>
TAPE_INLINE void for_runs(const Windows& w, int64_t channels, int64_t first, int64_t count, const See& see) {
  // Divisions cost as much as a short run, so the inner loops have none.
  const int64_t first_line = first / w.columns.out, first_column = first % w.columns.out;
  const Scratch<Range> ranges(w.columns.kernel);
  for (int64_t across = 0; across < w.columns.kernel; ++across) ranges[across] = windows_with(w.columns, across);
  int64_t row = 0;
  for (int64_t channel = 0; channel < channels; ++channel)
    for (int64_t down = 0; down < w.rows.kernel; ++down)
      for (int64_t across = 0; across < w.columns.kernel; ++across, ++row) {
        const Range inside = ranges[across];
        int64_t from = first_line * w.rows.stride + down * w.rows.dilation - w.rows.before, begin = first_column;
        for (int64_t done = 0; done < count; from += w.rows.stride, begin = 0) {
          const int64_t end = smaller(w.columns.out, begin + count - done);
          const bool over = from < 0 || from >= w.rows.in;
          const int64_t low = over ? end : smaller(end, larger(begin, inside.begin));
          const int64_t high = over ? end : larger(low, smaller(end, inside.end));
          see(row * count + done, begin, end, Range{low, high},
              (channel * w.rows.in + from) * w.columns.in + across * w.columns.dilation - w.columns.before);
          done += end - begin;
        }
      }
}

/// Usually too few values to justify a call of memset().
template <class T>
TAPE_INLINE void zero(int64_t n, T* to) {
  for (int64_t i = 0; i < n; i += kLanes<T>) store_first_or_all(to + i, Vec<T>{}, n - i);
}

/// to[i] = from[i * stride]
template <class T>
TAPE_INLINE void take_every(int64_t stride, int64_t n, const T* __restrict from, T* __restrict to) {
  if (stride == 2) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * 2];
    return;
  }
  // Vector gathers are no faster than single loads, and slower to start.
  const int64_t third = 3 * stride;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4, from += 4 * stride) {
    to[i] = from[0];
    to[i + 1] = from[stride];
    to[i + 2] = from[2 * stride];
    to[i + 3] = from[third];
  }
  for (; i < n; ++i, from += stride) to[i] = *from;
}

template <class T>
void im2col_rows(const Windows& w, int64_t channels, const T* x, int64_t first, int64_t count, T* columns) {
  const int64_t stride = w.columns.stride;
  for_runs(w, channels, first, count, [&](int64_t place, int64_t begin, int64_t end, Range in, int64_t origin) {
    T* const to = columns + place - begin;
    zero(in.begin - begin, to + begin);
    if (stride == 1)
      map_vectors(in.end - in.begin, x + origin + in.begin, to + in.begin, [](Vec<T> v) { return v; });
    else
      take_every(stride, in.end - in.begin, x + origin + in.begin * stride, to + in.begin);
    zero(end - in.end, to + in.end);
  });
}

template <class T>
void col2im(const Windows& w, int64_t channels, const T* columns, int64_t first, int64_t count, T* x) {
  const int64_t stride = w.columns.stride;
  for_runs(w, channels, first, count, [&](int64_t place, int64_t begin, int64_t, Range in, int64_t origin) {
    const T* const from = columns + place - begin;
    if (stride == 1) {
      T* const to = x + origin;
#pragma omp simd
      for (int64_t i = in.begin; i < in.end; ++i) to[i] += from[i];
    } else {
      for (int64_t i = in.begin; i < in.end; ++i) x[origin + i * stride] += from[i];
    }
  });
}
}  // namespace

TAPE_DEFINE_TABLES(Im2colKernels, im2col, im2col_rows<T>, col2im<T>)

}  // namespace tape::kernels::TAPE_LEVEL
