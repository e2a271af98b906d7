#include "autograd/kernels/reduce/common/unique.h"

#include <algorithm>
#include <numeric>

#include "autograd/kernels/runtime/level.h"

namespace tape::kernels {
namespace {

using namespace TAPE_LEVEL;

/// Ascending, NaN last.
template <class T>
bool stands_before(T a, T b) {
  return a < b || (a == a && b != b);
}

template <class T>
void distinct_values(int64_t n, const T* x, T* values, int64_t* counts, int64_t* places, int64_t* found) {
  std::copy(x, x + n, values);
  std::sort(values, values + n, stands_before<T>);
  int64_t m = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (m > 0 && values[m - 1] == values[i]) {
      ++counts[m - 1];
    } else {
      values[m] = values[i];
      counts[m++] = 1;
    }
  }
  *found = m;
  for_chunks(n, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      places[i] = std::lower_bound(values, values + m, x[i], stands_before<T>) - values;
  });
  // The search finds every NaN at the first one's position, but each counts as a separate value.
  int64_t nan = 0;
  for (int64_t i = 0; i < n; ++i)
    if (x[i] != x[i]) places[i] += nan++;
}

template <class T>
void distinct_rows(int64_t n, int64_t k, const T* x, int64_t* firsts, int64_t* counts, int64_t* places,
                   int64_t* found) {
  Scratch<int64_t> order(n);
  std::iota(order.data(), order.data() + n, int64_t{0});
  const auto before = [=](int64_t a, int64_t b) {
    const T *left = x + a * k, *right = x + b * k;
    for (int64_t i = 0; i < k; ++i) {
      if (stands_before(left[i], right[i])) return true;
      if (stands_before(right[i], left[i])) return false;
    }
    return a < b;  // equal, or equal except for NaN: by row index
  };
  std::sort(order.data(), order.data() + n, before);
  int64_t m = 0;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = order[i];
    if (m == 0 || !std::equal(x + row * k, x + (row + 1) * k, x + firsts[m - 1] * k)) {
      firsts[m] = row;
      counts[m++] = 0;
    }
    ++counts[m - 1];
    places[row] = m - 1;
  }
  *found = m;
}
}  // namespace

namespace common {
extern const UniqueKernels<float> distinct_f32 = {distinct_values<float>, distinct_rows<float>};
extern const UniqueKernels<double> distinct_f64 = {distinct_values<double>, distinct_rows<double>};
extern const UniqueKernels<int64_t> distinct_i64 = {distinct_values<int64_t>, distinct_rows<int64_t>};
}  // namespace common

}  // namespace tape::kernels
