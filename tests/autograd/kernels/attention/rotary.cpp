#include "autograd/kernels/attention/rotary.h"

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class RotaryKernel : public EveryLevel {};

template <class T>
std::vector<T> rotated(const RotaryShape& r, const std::vector<T>& x, const std::vector<T>& c,
                       const std::vector<T>& s) {
  std::vector<T> y(x.size(), T(7));
  rotary<T>().turn(r, x.data(), c.data(), s.data(), y.data());
  return y;
}

template <class T>
void check_turns() {
  for (const int64_t pairs : {1, 3, 8, 16, 32, 37})
    for (const int64_t still : {0, 5})
      for (const bool interleaved : {false, true})
        for (const bool apart : {false, true}) {
          RotaryShape r{3, 5, 2, 2 * pairs + still, pairs, apart ? 5 * pairs : 0, interleaved};
          const int64_t tables = (apart ? 3 : 1) * 5 * pairs;
          const std::vector<T> x = random_values<T>(3 * 5 * 2 * r.width, 1), c = random_values<T>(tables, 2),
                               s = random_values<T>(tables, 3);
          std::vector<double> wanted(x.begin(), x.end());
          for (int64_t head = 0; head < 3 * 5 * 2; ++head)
            for (int64_t i = 0; i < pairs; ++i) {
              const int64_t t = head / 2, table = (apart ? t : t % 5) * pairs + i;
              const size_t u = static_cast<size_t>(head * r.width + (interleaved ? 2 * i : i)),
                           v = u + static_cast<size_t>(interleaved ? 1 : pairs), at = static_cast<size_t>(table);
              const double cosine = static_cast<double>(c[at]), sine = static_cast<double>(s[at]),
                           a = static_cast<double>(x[u]), b = static_cast<double>(x[v]);
              wanted[u] = a * cosine - b * sine;
              wanted[v] = a * sine + b * cosine;
            }
          const std::vector<T> y = rotated(r, x, c, s);
          expect_close(y, wanted, tolerance<T>(1e-6, 1e-14), "turned");
          std::vector<T> in_place = x;
          rotary<T>().turn(r, in_place.data(), c.data(), s.data(), in_place.data());
          EXPECT_EQ(in_place, y);
        }
}

TEST_P(RotaryKernel, RotatesPairs) {
  check_turns<float>();
  check_turns<double>();
}

TEST_P(RotaryKernel, IsBitwiseEqualForAnyThreadCount) {
  const RotaryShape r{4, 300, 8, 64, 32, 0, false};
  const std::vector<float> x = random_values<float>(4 * 300 * 8 * 64, 1), c = random_values<float>(300 * 32, 2),
                           s = random_values<float>(300 * 32, 3);
  expect_same_bits([&] { return rotated(r, x, c, s); });
}

TEST_P(RotaryKernel, AcceptsEmptyInput) {
  const std::vector<float> none, table(8);
  EXPECT_TRUE(rotated({0, 2, 2, 8, 4, 0, false}, none, table, table).empty());
  EXPECT_TRUE(rotated({2, 0, 2, 8, 4, 0, false}, none, none, none).empty());
}

TAPE_EVERY_LEVEL(RotaryKernel);

}  // namespace
}  // namespace tape::kernels::testing
