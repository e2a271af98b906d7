#include "autograd/kernels/shape/common/copy.h"

#include <algorithm>
#include <numeric>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

struct View {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // of the first element in its buffer
  int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
  Strided places() const {
    Strided places{.rank = static_cast<int>(sizes.size())};
    std::copy(sizes.begin(), sizes.end(), places.sizes);
    std::copy(strides.begin(), strides.end(), places.strides);
    return places;
  }
  int64_t at(int64_t i) const {
    int64_t place = offset;
    for (size_t d = sizes.size(); d-- > 0; i /= sizes[d]) place += i % sizes[d] * strides[d];
    return place;
  }
};

const View kViews[] = {{{}, {}, 3},
                       {{0, 4}, {4, 1}},
                       {{5}, {1}},
                       {{5}, {-1}, 4},
                       {{5}, {3}},
                       {{33, 65}, {1, 33}},
                       {{300, 257}, {1, 300}},
                       {{300, 257}, {257, 1}},
                       {{300, 200}, {400, 2}},
                       {{4, 12, 8, 16}, {12 * 8 * 16, 16, 12 * 16, 1}},  // heads before time
                       {{4, 16, 8, 12}, {12 * 8 * 16, 1, 16, 8 * 16}},   // and their transpose
                       {{7, 1, 9, 11}, {1, 5, 77, 7}},
                       {{3, 1, 70000}, {70000, 0, 1}},
                       {{100000}, {-2}, 199998},
                       {{2, 3, 2, 3, 2, 3, 2, 5}, {1, 2, 6, 12, 36, 72, 216, 432}}};
const View kRepeated[] = {{{6, 7}, {0, 1}}, {{6, 7}, {1, 0}}, {{400, 3, 200}, {0, 1, 3}}};

template <class E>
void check(const View& view, bool repeated) {
  int64_t last = 0;
  for (int64_t i = 0; i < view.count(); ++i) last = std::max(last, view.at(i));
  std::vector<E> x(static_cast<size_t>(last + 1)), out(static_cast<size_t>(view.count())), wanted(out.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<E>(i * 5 + i / 256 + 1);
  for (int64_t i = 0; i < view.count(); ++i) wanted[static_cast<size_t>(i)] = x[static_cast<size_t>(view.at(i))];
  copy().from_strided(view.places(), sizeof(E), x.data() + view.offset, out.data());
  EXPECT_EQ(out, wanted);
  if (repeated) return;
  std::vector<E> back(x.size(), E(7)), wanted_back = back;
  for (int64_t i = 0; i < view.count(); ++i) wanted_back[static_cast<size_t>(view.at(i))] = out[static_cast<size_t>(i)];
  copy().to_strided(view.places(), sizeof(E), out.data(), back.data() + view.offset);
  EXPECT_EQ(back, wanted_back);
}

TEST(Copy, CopiesStridedElements) {
  for (const int threads : {1, 2}) {
    const int before = num_threads();
    set_num_threads(threads);
    for (const View& view : kViews) {
      check<uint8_t>(view, false);
      check<uint32_t>(view, false);
      check<uint64_t>(view, false);
    }
    for (const View& view : kRepeated) check<uint32_t>(view, true);
    set_num_threads(before);
  }
}

template <class E>
void check_fill(int64_t n, E value) {
  std::vector<E> out(static_cast<size_t>(n + 1), E(7)), wanted(static_cast<size_t>(n), value);
  wanted.push_back(E(7));
  copy().fill(n, sizeof(E), element_of(value), out.data());
  EXPECT_EQ(out, wanted) << n;
}
TEST(Copy, FillsWithAValueOfAnySize) {
  for (const int64_t n : {0, 1, 5, 33, 70000}) {
    check_fill<uint8_t>(n, 200);
    check_fill<uint16_t>(n, 60000);
    check_fill<float>(n, -1.5F);
    check_fill<double>(n, 1e300);
    check_fill<int64_t>(n, -3);
  }
}

}  // namespace
}  // namespace tape::kernels::testing
