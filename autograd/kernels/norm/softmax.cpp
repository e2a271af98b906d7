#include "autograd/kernels/norm/softmax.h"

#include <algorithm>

#include "autograd/kernels/vector/row_math.h"

namespace tape::kernels::TAPE_LEVEL {
namespace {

/// Calls each(offset of the row) in parallel.
template <class Each>
TAPE_INLINE void for_each_row(int64_t rows, int64_t cols, const Each& each) {
  if (cols == 0) return;
  for_chunks(rows, 2 * cols, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) each(r * cols);
  });
}

/// Up to one register of adjacent lines: their values at one position are contiguous.
template <class T>
struct LineBlock {
  int64_t length, stride, at, width;

  TAPE_MEMBER Vec<T> read(const T* x, int64_t i, T rest) const {
    return load_first_or_all(x + at + i * stride, width, rest);
  }
  TAPE_MEMBER void write(T* x, int64_t i, Vec<T> v) const { store_first_or_all(x + at + i * stride, v, width); }
  /// Maximum of each line; may ignore NaN.
  TAPE_MEMBER Vec<T> largest(const T* x) const {
    const T lowest = static_cast<T>(-kInfinity);
    Vec<T> all = fill(lowest);
    for (int64_t i = 0; i < length; ++i) {
      const Vec<T> v = read(x, i, lowest);
      all = v > all ? v : all;
    }
    return all;
  }
  /// finish(sum of term(position) over a line), per lane. Partial sums of blocks are added in double.
  template <class Term, class Finish>
  TAPE_MEMBER Vec<T> summed(const Term& term, const Finish& finish) const {
    constexpr int64_t kBlock = 64;
    double totals[kLanes<T>] = {};
    for (int64_t begin = 0; begin < length; begin += kBlock) {
      Vec<T> sum = {};
      for (int64_t i = begin; i < smaller(length, begin + kBlock); ++i) sum += term(i);
      for (int lane = 0; lane < kLanes<T>; ++lane) totals[lane] += static_cast<double>(sum[lane]);
    }
    Vec<T> result = {};
    for (int lane = 0; lane < kLanes<T>; ++lane) result[lane] = static_cast<T>(finish(totals[lane]));
    return result;
  }
};

/// Per lane, a maximum that is safe to subtract; see finite_or_zero().
template <class T>
TAPE_INLINE Vec<T> finite_or_zero_each(Vec<T> largest) {
  return largest == fill(static_cast<T>(-kInfinity)) ? fill(T(0)) : largest;
}

/// Calls each(block) in parallel.
template <class T, class Each>
TAPE_INLINE void for_each_block(int64_t outer, int64_t size, int64_t inner, const Each& each) {
  if (size == 0) return;
  const int64_t blocks = ceil_div(inner, kLanes<T>);
  for_chunks(outer * blocks, 2 * size * kLanes<T>, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block % blocks * kLanes<T>;
      each(LineBlock<T>{size, inner, block / blocks * size * inner + first, smaller(kLanes<T>, inner - first)});
    }
  });
}

double inverse_or_zero(double sum) { return sum == 0 ? 0 : 1 / sum; }
// A line of -inf has sum 0, so its values stay -inf.
double log_or_zero(double sum) { return sum == 0 ? 0 : __builtin_log(sum); }
double itself(double sum) { return sum; }

template <class T>
void softmax(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  constexpr int kStep = kLanes<T>;
  const T lowest = static_cast<T>(-kInfinity);
  if (inner != 1) {
    for_each_block<T>(outer, size, inner, [&](const LineBlock<T>& block) {
      const Vec<T> max = finite_or_zero_each<T>(block.largest(x));
      const auto exponential = [&](int64_t i) {
        const Vec<T> e = exp_of_negative(block.read(x, i, lowest) - max);
        block.write(y, i, e);
        return e;
      };
      const Vec<T> scale = block.summed(exponential, inverse_or_zero);
      for (int64_t i = 0; i < size; ++i) block.write(y, i, block.read(y, i, T(0)) * scale);
    });
    return;
  }
  const int64_t cols = size;
  for_each_row(outer, cols, [&](int64_t at) {
    const T max = finite_or_zero(row_max(cols, x + at));
    if (cols <= kStep) {  // the whole row fits in one register
      const Vec<T> e = exp_of_negative(load_first_or_all(x + at, cols, lowest) - max);
      const T sum = fold(e, Add());
      store_first_or_all(y + at, e * (sum == T(0) ? T(0) : T(1) / sum), cols);
      return;
    }
    const double sum = row_sum(cols, x + at, lowest, [&](Vec<T> v, int64_t i) {
      const Vec<T> e = exp_of_negative(v - max);
      store_first_or_all(y + at + i, e, cols - i);
      return e;
    });
    const T scale = static_cast<T>(inverse_or_zero(sum));
    map_row(cols, y + at, y + at, [scale](Vec<T> v, int64_t) { return v * scale; });
  });
}

template <class T>
void softmax_backward(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx) {
  if (inner != 1) {
    for_each_block<T>(outer, size, inner, [&](const LineBlock<T>& block) {
      const Vec<T> dot =
          block.summed([&](int64_t i) { return block.read(y, i, T(0)) * block.read(dy, i, T(0)); }, itself);
      for (int64_t i = 0; i < size; ++i) block.write(dx, i, block.read(y, i, T(0)) * (block.read(dy, i, T(0)) - dot));
    });
    return;
  }
  const int64_t cols = size;
  for_each_row(outer, cols, [&](int64_t at) {
    const T dot = static_cast<T>(
        row_sum(cols, y + at, T(0), [&](Vec<T> v, int64_t i) { return v * load_up_to(dy + at, i, cols); }));
    map_row(cols, y + at, dx + at, [&](Vec<T> v, int64_t i) { return v * (load_up_to(dy + at, i, cols) - dot); });
  });
}

template <class T>
void log_softmax(int64_t outer, int64_t size, int64_t inner, const T* x, T* y) {
  if (inner != 1) {
    for_each_block<T>(outer, size, inner, [&](const LineBlock<T>& block) {
      const T lowest = static_cast<T>(-kInfinity);
      const Vec<T> max = finite_or_zero_each<T>(block.largest(x));
      const Vec<T> log_sum =
          block.summed([&](int64_t i) { return exp_of_negative(block.read(x, i, lowest) - max); }, log_or_zero);
      for (int64_t i = 0; i < size; ++i) block.write(y, i, (block.read(x, i, T(0)) - max) - log_sum);
    });
    return;
  }
  const int64_t cols = size;
  for_each_row(outer, cols, [&](int64_t at) {
    const T max = finite_or_zero(row_max(cols, x + at));
    const T log_sum = static_cast<T>(log_or_zero(row_sum_exp(cols, x + at, max)));
    map_row(cols, x + at, y + at, [&](Vec<T> v, int64_t) { return (v - max) - log_sum; });
  });
}

template <class T>
void log_softmax_backward(int64_t outer, int64_t size, int64_t inner, const T* y, const T* dy, T* dx) {
  const T lowest = static_cast<T>(-kInfinity);
  if (inner != 1) {
    for_each_block<T>(outer, size, inner, [&](const LineBlock<T>& block) {
      const auto hidden = block.largest(y) == fill(lowest);
      const Vec<T> sum = block.summed([&](int64_t i) { return block.read(dy, i, T(0)); }, itself);
      for (int64_t i = 0; i < size; ++i) {
        const Vec<T> gradient = block.read(dy, i, T(0)) - exp_of_negative(block.read(y, i, lowest)) * sum;
        block.write(dx, i, hidden ? fill(T(0)) : gradient);
      }
    });
    return;
  }
  const int64_t cols = size;
  for_each_row(outer, cols, [&](int64_t at) {
    // A row of only -inf has gradient 0.
    if (y[at] == lowest && row_max(cols, y + at) == lowest) {
      std::fill_n(dx + at, cols, T(0));
      return;
    }
    const T sum = static_cast<T>(row_sum(cols, dy + at, T(0), [](Vec<T> v, int64_t) { return v; }));
    map_row(cols, y + at, dx + at,
            [&](Vec<T> v, int64_t i) { return load_up_to(dy + at, i, cols) - exp_of_negative(v) * sum; });
  });
}
}  // namespace

TAPE_DEFINE_TABLES(SoftmaxKernels, softmax, softmax<T>, softmax_backward<T>, log_softmax<T>, log_softmax_backward<T>)

}  // namespace tape::kernels::TAPE_LEVEL
