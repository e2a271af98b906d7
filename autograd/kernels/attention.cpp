#include "autograd/kernels/attention.h"

#include "autograd/kernels/attention_blocks.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// c[j] = a b_j for the n rows b_j of B; four at a time, for one sum would wait for itself.
template <class T>
TAPE_INLINE void row_times_rows(int64_t n, int64_t depth, const T* a, const T* b, int64_t b_row, T* c) {
  constexpr int kAtOnce = 4;
  for (int64_t j = 0; j < n; j += kAtOnce) {
    // Past the last row, it once more.
    const T* row[kAtOnce];
    for (int r = 0; r < kAtOnce; ++r) row[r] = b + smaller(j + r, n - 1) * b_row;
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

template <class T>
class ExactProducts {
 public:
  ExactProducts(const AttentionShape& shape, int64_t, int64_t keys, const T* k, const T* v)
      : shape_(shape),
        all_(keys),
        packs_(shape.Tq * shape.group > kFewQueries),
        k_(k),
        v_(v),
        keys_(packs_ ? padded<T>(keys) * shape.D : 1),
        values_(packs_ ? padded<T>(keys) * shape.Dv : 1) {}

  static constexpr int64_t kAlign = kPanel<T>;
  /// A block of queries has its scores in the second-level cache.
  static int64_t queries_per_block(const AttentionShape& s) {
    constexpr int64_t kMost = 24;
    return larger(1, smaller(s.Tq, larger(8, smaller(kMost, 65536 / larger(1, most_keys(s, kMost, kAlign))))));
  }
  void prepare_forward() {
    if (packs_) return pack_transposed(all_, shape_.D, k_, shape_.k.row, keys_.data());
    fetch(shape_.D, k_, shape_.k.row);
    fetch(shape_.Dv, v_, shape_.v.row);
  }
  void prepare_backward() {
    prepare_forward();
    if (packs_) pack_transposed(all_, shape_.Dv, v_, shape_.v.row, values_.data());
  }
  void times_keys(int64_t begin, int64_t count, int64_t width, const T* a, int64_t a_row, T* c, int64_t c_row) {
    times(begin, count, width, shape_.D, a, a_row, k_, shape_.k.row, keys_.data(), c, c_row);
  }
  void times_values(int64_t begin, int64_t count, int64_t width, const T* a, int64_t a_row, T* c, int64_t c_row) {
    times(begin, count, width, shape_.Dv, a, a_row, v_, shape_.v.row, values_.data(), c, c_row);
  }
  void sum_values(int64_t begin, int64_t count, int64_t keys, const T* a, int64_t a_row, T* c, int64_t c_row) {
    multiply(Product<T>{count, shape_.Dv, keys, a, a_row, 1, v_ + begin * shape_.v.row, shape_.v.row, c, c_row, false});
  }
  void sum_keys(int64_t begin, int64_t count, int64_t keys, const T* a, int64_t a_row, T* c, int64_t c_row) {
    multiply(Product<T>{count, shape_.D, keys, a, a_row, 1, k_ + begin * shape_.k.row, shape_.k.row, c, c_row, false});
  }
  void add_transposed(int64_t keys, int64_t width, int64_t count, const T* a, int64_t a_row, const T* b, int64_t b_row,
                      T* c, int64_t c_row) {
    multiply(Product<T>{keys, width, count, a, 1, a_row, b, b_row, c, c_row, true});
  }

 private:
  /// Queries that share keys, up to which packing the keys takes longer than it saves: a decoder's next token (Zen 4, 8
  /// heads of 2,048 keys of width 64: 97 microseconds, with packed keys 273).
  static constexpr int64_t kFewQueries = 4;

  /// Brings the first rows into the second-level cache: a decoder reads each of its keys once a token, from memory.
  void fetch(int64_t width, const T* x, int64_t row) const {
    constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T)), kMost = 64;
    for (int64_t j = 0; j < smaller(all_, kMost); ++j)
      for (int64_t i = 0; i < width; i += kLine) __builtin_prefetch(x + j * row + i, 0, 2);
  }
  void times(int64_t begin, int64_t count, int64_t width, int64_t depth, const T* a, int64_t a_row, const T* b,
             int64_t b_row, const T* packed, T* c, int64_t c_row) {
    if (packs_)
      return multiply_packed(count, width, depth, a, a_row, padded<T>(all_) - begin, packed + begin * depth, c, c_row);
    const int64_t there = smaller(width, all_ - begin);
    for (int64_t r = 0; r < count; ++r) {
      row_times_rows(there, depth, a + r * a_row, b + begin * b_row, b_row, c + r * c_row);
      for (int64_t j = there; j < width; ++j) c[r * c_row + j] = 0;
    }
  }

  const AttentionShape& shape_;
  int64_t all_;  // keys
  bool packs_;
  const T *k_, *v_;
  Scratch<T> keys_, values_;  // transposed
};
}  // namespace

extern const AttentionKernels<float> attention_f32 = {.forward = forward<ExactProducts<float>, float>,
                                                      .backward = backward<ExactProducts<float>, float>};
extern const AttentionKernels<double> attention_f64 = {.forward = forward<ExactProducts<double>, double>,
                                                       .backward = backward<ExactProducts<double>, double>};

}  // namespace tape::kernels::TAPE_LEVEL
