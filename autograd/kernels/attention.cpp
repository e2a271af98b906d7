#include "autograd/kernels/attention.h"

#include "autograd/kernels/attention_blocks.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

template <class T>
class ExactProducts {
 public:
  ExactProducts(const AttentionShape& shape, int64_t, int64_t keys, const T* k, const T* v)
      : shape_(shape),
        all_(keys),
        k_(k),
        v_(v),
        keys_(padded<T>(keys) * shape.D),
        values_(padded<T>(keys) * shape.Dv) {}

  static constexpr int64_t kAlign = kPanel<T>;
  /// A block of queries has its scores in the second-level cache.
  static int64_t queries_per_block(const AttentionShape& s) {
    constexpr int64_t kMost = 24;
    return larger(1, smaller(s.Tq, larger(8, smaller(kMost, 65536 / larger(1, most_keys(s, kMost, kAlign))))));
  }
  void prepare_forward() { pack_transposed(all_, shape_.D, k_, shape_.k.row, keys_.data()); }
  void prepare_backward() {
    prepare_forward();
    pack_transposed(all_, shape_.Dv, v_, shape_.v.row, values_.data());
  }
  void times_keys(int64_t begin, int64_t count, int64_t width, const T* a, int64_t a_row, T* c, int64_t c_row) {
    times(begin, count, width, shape_.D, a, a_row, keys_.data(), c, c_row);
  }
  void times_values(int64_t begin, int64_t count, int64_t width, const T* a, int64_t a_row, T* c, int64_t c_row) {
    times(begin, count, width, shape_.Dv, a, a_row, values_.data(), c, c_row);
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
  void times(int64_t begin, int64_t count, int64_t width, int64_t depth, const T* a, int64_t a_row, const T* packed,
             T* c, int64_t c_row) {
    multiply_packed(count, width, depth, a, a_row, padded<T>(all_) - begin, packed + begin * depth, c, c_row);
  }

  const AttentionShape& shape_;
  int64_t all_;  // keys
  const T *k_, *v_;
  Scratch<T> keys_, values_;  // transposed
};
}  // namespace

extern const AttentionKernels<float> attention_f32 = {.forward = forward<ExactProducts<float>, float>,
                                                      .backward = backward<ExactProducts<float>, float>};
extern const AttentionKernels<double> attention_f64 = {.forward = forward<ExactProducts<double>, double>,
                                                       .backward = backward<ExactProducts<double>, double>};

}  // namespace tape::kernels::TAPE_LEVEL
