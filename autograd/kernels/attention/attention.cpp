#include "autograd/kernels/attention/attention.h"

#include "autograd/kernels/attention/attention_blocks.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// c[j] = a b_j for rows [begin, begin + n) of B, four at a time to hide the latency of a single sum.
template <class T>
TAPE_INLINE void row_times_rows(int64_t begin, int64_t n, int64_t depth, const T* a, const HeadRows<T>& b, T* c) {
  constexpr int kAtOnce = 4;
  for (int64_t j = 0; j < n; j += kAtOnce) {
    // Rows past the end repeat the last one.
    const T* row[kAtOnce];
    for (int r = 0; r < kAtOnce; ++r) row[r] = b[begin + smaller(j + r, n - 1)];
    Vec<T> sums[kAtOnce] = {};
    for (int64_t i = 0; i < depth; i += kLanes<T>) {
      const Vec<T> x = load_up_to(a, i, depth);
      for (int r = 0; r < kAtOnce; ++r) sums[r] += x * load_up_to(row[r], i, depth);
    }
    T dots[kAtOnce];
    fold_four(sums, dots);
    for (int64_t r = 0; r < smaller(kAtOnce, n - j); ++r) c[j + r] = dots[r];
  }
}

/// c = sum of a[j] b_j over rows [begin, begin + n) of B, or c += that sum, for a fixed number of column vectors, of
/// which the last has at most `width` columns.
template <int vectors, class T>
TAPE_INLINE void sum_columns(int64_t begin, int64_t n, int64_t width, const T* a, const HeadRows<T>& b, int64_t column,
                             bool accumulate, T* c) {
  Vec<T> sums[vectors] = {};
  for (int64_t j = 0; j < n; ++j) {
    const T* const row = b[begin + j] + column;
    for (int v = 0; v < vectors; ++v) sums[v] += load_up_to(row, v * kLanes<T>, width) * a[j];
  }
  for (int v = 0; v < vectors; ++v) {
    const int64_t at = v * kLanes<T>;
    T* const to = c + column + at;
    store_first_or_all(to, accumulate ? load_up_to(c + column, at, width) + sums[v] : sums[v], width - at);
  }
}
/// The same for all columns, summed in the same order as multiply().
template <class T>
TAPE_INLINE void sum_rows(int64_t begin, int64_t n, int64_t width, const T* a, const HeadRows<T>& b, T* c) {
  constexpr int kAtOnce = 4;
  constexpr int64_t kTogether = kAtOnce * kLanes<T>;
  for (int64_t first = 0; first == 0 || first < n; first += kSummedTogether) {
    const int64_t count = smaller(kSummedTogether, n - first);
    int64_t column = 0;
    for (; column + kTogether <= width; column += kTogether)
      sum_columns<kAtOnce>(begin + first, count, kTogether, a + first, b, column, first > 0, c);
    for (; column < width; column += kLanes<T>)
      sum_columns<1>(begin + first, count, width - column, a + first, b, column, first > 0, c);
  }
}

template <class T>
class ExactProducts {
 public:
  ExactProducts(const AttentionShape& shape, int64_t, int64_t keys, const HeadRows<T>& k, const HeadRows<T>& v)
      : shape_(shape),
        all_(keys),
        packs_(shape.Tq * shape.group > kFewQueries),
        k_(k),
        v_(v),
        keys_(packs_ ? padded<T>(keys) * shape.D : 1),
        values_(packs_ ? padded<T>(keys) * shape.Dv : 1) {}

  static constexpr int64_t kAlign = kPanel<T>;
  /// Chosen so that the scores of a block of queries fit in the L2 cache.
  static int64_t queries_per_block(const AttentionShape& s) {
    constexpr int64_t kMost = 24;
    return larger(1, smaller(s.Tq, larger(8, smaller(kMost, 65536 / larger(1, max_keys(s, kMost, kAlign))))));
  }
  void prepare_forward() {
    if (packs_) return pack_transposed(all_, shape_.D, k_.first, k_.row, keys_.data());
    fetch(shape_.D, k_);
    fetch(shape_.Dv, v_);
  }
  void prepare_backward() {
    prepare_forward();
    if (packs_) pack_transposed(all_, shape_.Dv, v_.first, v_.row, values_.data());
  }
  void times_keys(int64_t begin, int64_t count, int64_t width, const T* a, int64_t a_row, T* c, int64_t c_row) {
    times(begin, count, width, shape_.D, a, a_row, k_, keys_.data(), c, c_row);
  }
  void times_values(int64_t begin, int64_t count, int64_t width, const T* a, int64_t a_row, T* c, int64_t c_row) {
    times(begin, count, width, shape_.Dv, a, a_row, v_, values_.data(), c, c_row);
  }
  void sum_values(int64_t begin, int64_t count, int64_t keys, const T* a, int64_t a_row, T* c, int64_t c_row) {
    if (v_.chosen) {
      for (int64_t r = 0; r < count; ++r) sum_rows(begin, keys, shape_.Dv, a + r * a_row, v_, c + r * c_row);
      return;
    }
    multiply(Product<T>{count, shape_.Dv, keys, a, a_row, 1, v_[begin], v_.row, c, c_row, false});
  }
  void sum_keys(int64_t begin, int64_t count, int64_t keys, const T* a, int64_t a_row, T* c, int64_t c_row) {
    multiply(Product<T>{count, shape_.D, keys, a, a_row, 1, k_[begin], k_.row, c, c_row, false});
  }
  void add_transposed(int64_t keys, int64_t width, int64_t count, const T* a, int64_t a_row, const T* b, int64_t b_row,
                      T* c, int64_t c_row) {
    multiply(Product<T>{keys, width, count, a, 1, a_row, b, b_row, c, c_row, true});
  }

 private:
  /// Prefetches the first rows into the L2 cache: a decoder reads each key from memory once per token.
  void fetch(int64_t width, const HeadRows<T>& x) const {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T)), kMost = 64;
    for (int64_t j = 0; j < smaller(all_, kMost); ++j)
      for (int64_t i = 0; i < width; i += kLine) __builtin_prefetch(x[j] + i, 0, 2);
  }
  void times(int64_t begin, int64_t count, int64_t width, int64_t depth, const T* a, int64_t a_row,
             const HeadRows<T>& b, const T* packed, T* c, int64_t c_row) {
    if (packs_)
      return multiply_packed(count, width, depth, a, a_row, padded<T>(all_) - begin, packed + begin * depth, c, c_row);
    const int64_t there = smaller(width, all_ - begin);
    for (int64_t r = 0; r < count; ++r) {
      row_times_rows(begin, there, depth, a + r * a_row, b, c + r * c_row);
      for (int64_t j = there; j < width; ++j) c[r * c_row + j] = 0;
    }
  }

  const AttentionShape& shape_;
  int64_t all_;  // number of keys
  bool packs_;
  HeadRows<T> k_, v_;
  Scratch<T> keys_, values_;  // transposed
};
}  // namespace

TAPE_DEFINE_TABLES(AttentionKernels, attention, .forward = forward<ExactProducts<T>, T>,
                   .backward = backward<ExactProducts<T>, T>)

}  // namespace tape::kernels::TAPE_LEVEL
