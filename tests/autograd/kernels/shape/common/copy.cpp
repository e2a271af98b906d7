#include "autograd/kernels/shape/common/copy.h"

#include <algorithm>
#include <numeric>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

struct View {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;  // where the first element lies in its buffer
  int64_t count() const { return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>()); }
  int rank() const { return static_cast<int>(sizes.size()); }
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
  copy_strided(view.rank(), view.sizes.data(), view.strides.data(), sizeof(E), x.data() + view.offset, out.data());
  EXPECT_EQ(out, wanted);
  if (repeated) return;
  std::vector<E> back(x.size(), E(7)), wanted_back = back;
  for (int64_t i = 0; i < view.count(); ++i) wanted_back[static_cast<size_t>(view.at(i))] = out[static_cast<size_t>(i)];
  copy_into_strided(view.rank(), view.sizes.data(), view.strides.data(), sizeof(E), out.data(),
                    back.data() + view.offset);
  EXPECT_EQ(back, wanted_back);
}

TEST(Copy, strided_places) {
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

}  // namespace
}  // namespace tape::kernels::testing
