#include "autograd/kernels/reduce/scan.h"

#include "tests/autograd/kernels/levels.h"
#include "tests/autograd/kernels/middle_axis.h"

namespace tape::kernels::testing {
namespace {

class Scan : public EveryLevel {};

template <class T>
void check_cumsum() {
  for (const Shape& s : kShapes) {
    const std::vector<T> x = random_values<T>(s.count(), 3);
    for (const bool reverse : {false, true}) {
      std::vector<T> y(x.size());
      std::vector<long double> wanted(x.size());
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t n = 0; n < s.inner; ++n) {
          long double sum = 0;
          for (int64_t i = 0; i < s.size; ++i) {
            const size_t here = at(s, o, reverse ? s.size - 1 - i : i, n);
            wanted[here] = sum += static_cast<long double>(x[here]);
          }
        }
      scan<T>().cumsum(s.outer, s.size, s.inner, x.data(), y.data(), reverse);
      expect_close(y, wanted, spread(s) * tolerance<T>(1e-7, 1e-13), "cumsum");
    }
  }
}
TEST_P(Scan, CumsumMatchesALoop) {
  check_cumsum<float>();
  check_cumsum<double>();
}

TAPE_EVERY_LEVEL(Scan);

}  // namespace
}  // namespace tape::kernels::testing
