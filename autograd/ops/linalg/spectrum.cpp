#include "autograd/ops/linalg/spectrum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops/linalg/batch.h"

namespace tape::linalg {

void check_distinct(const char* operation, const char* vectors, const char* value, const Tensor& values,
                    const Shape& shape) {
  const int64_t n = values.size(-1);
  if (n < 2) return;
  dispatch_floating(operation, values.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* all = values.data<T>();
    for (int64_t i = 0; i < values.numel(); ++i) {
      const int64_t place = i % n;
      if (place + 1 == n) continue;
      const T* own = all + i - place;
      const T bound = 8 * std::numeric_limits<T>::epsilon() * std::max(std::abs(own[0]), std::abs(own[n - 1]));
      if (std::abs(own[place + 1] - own[place]) <= bound)
        raise(ErrorKind::numeric, "{}: the gradient of the {} does not exist: {}: {}s {} and {} are equal ({} and {})",
              operation, vectors, which_matrix("a", shape, i / n), value, place, place + 1, own[place], own[place + 1]);
    }
  });
}

}  // namespace tape::linalg
