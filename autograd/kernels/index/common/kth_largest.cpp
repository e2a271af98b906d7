#include "autograd/kernels/index/common/kth_largest.h"

#include <algorithm>
#include <functional>

namespace tape::kernels {

float kth_largest(int64_t n, float* values, int64_t k) {
  std::nth_element(values, values + (k - 1), values + n, std::greater<>());
  return values[k - 1];
}

}  // namespace tape::kernels
