#include "autograd/kernels/index/common/kth_largest.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

TEST(KthLargest, IsThatOfAllInOrder) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const int64_t n : {1, 2, 7, 200}) {
    std::vector<float> values = random_values<float>(n, static_cast<unsigned>(n));
    values[static_cast<size_t>(n / 2)] = values[0];  // equal ones count each
    if (n > 2) values[1] = kInf, values[2] = -kInf;
    std::vector<float> sorted = values;
    std::sort(sorted.rbegin(), sorted.rend());
    for (int64_t k = 1; k <= n; ++k) {
      std::vector<float> any = values;
      EXPECT_EQ(kth_largest(n, any.data(), k), sorted[static_cast<size_t>(k - 1)]) << k << " of " << n;
    }
  }
}

}  // namespace
}  // namespace tape::kernels::testing
