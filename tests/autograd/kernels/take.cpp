#include "autograd/kernels/take.h"

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

struct Shape {
  int64_t outer, size, inner, count;
};
const Shape kShapes[] = {{1, 1, 1, 1},     {1, 10, 7, 25}, {3, 5, 1, 9}, {1, 300, 130, 700},
                         {40, 50, 17, 60}, {2, 4, 3, 0},   {0, 4, 3, 2}, {1, 5000, 1, 50000}};
size_t at(int64_t i) { return static_cast<size_t>(i); }

template <class E>
void check_take_and_gather() {
  for (const Shape& s : kShapes) {
    std::vector<E> x(at(s.outer * s.size * s.inner));
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<E>(i * 7 + 1);
    const std::vector<int64_t> index = random_indices(s.count, 1, s.size),
                               each = random_indices(s.outer * s.count * s.inner, 2, s.size);
    std::vector<E> taken(at(s.outer * s.count * s.inner)), gathered = taken, wanted_taken = taken,
                                                           wanted_gathered = taken;
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t c = 0; c < s.count; ++c)
        for (int64_t i = 0; i < s.inner; ++i) {
          const int64_t to = (o * s.count + c) * s.inner + i;
          wanted_taken[at(to)] = x[at((o * s.size + index[at(c)]) * s.inner + i)];
          wanted_gathered[at(to)] = x[at((o * s.size + each[at(to)]) * s.inner + i)];
        }
    take(s.outer, s.size, s.inner, sizeof(E), x.data(), s.count, index.data(), taken.data());
    gather(s.outer, s.size, s.inner, sizeof(E), x.data(), s.count, each.data(), gathered.data());
    EXPECT_EQ(taken, wanted_taken);
    EXPECT_EQ(gathered, wanted_gathered);
  }
}
TEST(Take, reads_where_the_indices_say) {
  check_take_and_gather<uint8_t>();
  check_take_and_gather<float>();
  check_take_and_gather<double>();
}

TEST(Take, first_outside_is_the_place_of_the_first_wrong_index) {
  const int64_t index[] = {0, 4, 3, 5, -1};
  EXPECT_EQ(first_outside(3, index, 5), -1);
  EXPECT_EQ(first_outside(5, index, 5), 3);
  EXPECT_EQ(first_outside(5, index, 6), 4);
  EXPECT_EQ(first_outside(0, nullptr, 0), -1);
}

}  // namespace
}  // namespace tape::kernels::testing
