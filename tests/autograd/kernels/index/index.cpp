#include "autograd/kernels/index/index.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Index : public EveryLevel {};
struct Shape {
  int64_t outer, size, inner, count;
};
const Shape kShapes[] = {{1, 1, 1, 1},     {1, 10, 7, 25}, {3, 5, 1, 9}, {1, 300, 130, 700},
                         {40, 50, 17, 60}, {2, 4, 3, 0},   {0, 4, 3, 2}, {1, 5000, 1, 50000}};
size_t at(int64_t i) { return static_cast<size_t>(i); }

template <class T>
void check_adding() {
  for (const Shape& s : kShapes) {
    const std::vector<T> start = random_values<T>(s.outer * s.size * s.inner, 3),
                         y = random_values<T>(s.outer * s.count * s.inner, 4);
    const std::vector<int64_t> index = random_indices(s.count, 5, s.size),
                               each = random_indices(s.outer * s.count * s.inner, 6, s.size);
    std::vector<T> added = start, scattered = start, wanted_added = start, wanted_scattered = start;
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t c = 0; c < s.count; ++c)
        for (int64_t i = 0; i < s.inner; ++i) {
          const int64_t from = (o * s.count + c) * s.inner + i;
          wanted_added[at((o * s.size + index[at(c)]) * s.inner + i)] += y[at(from)];
          wanted_scattered[at((o * s.size + each[at(from)]) * s.inner + i)] += y[at(from)];
        }
    kernels::index<T>().add_at(s.outer, s.size, s.inner, added.data(), s.count, index.data(), y.data());
    std::vector<T> beside(start.size());
    for (T* const sums : {beside.data(), scattered.data()})  // out of place first, then in place
      kernels::index<T>().scatter_add(s.outer, s.size, s.inner, scattered.data(), sums, s.count, each.data(), y.data());
    EXPECT_EQ(added, wanted_added);  // bitwise: repeated indices accumulate in order
    EXPECT_EQ(scattered, wanted_scattered);
    EXPECT_EQ(beside, wanted_scattered);
  }
}
TEST_P(Index, AccumulatesRepeatedIndicesInOrder) {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    check_adding<float>();
    check_adding<double>();
  }
}

template <class T>
void check_median() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Shape& s : {Shape{1, 1, 1, 0}, Shape{3, 17, 1, 0}, Shape{2, 30, 4, 0}, Shape{300, 64, 3, 0}}) {
    std::vector<T> x = random_values<T>(s.outer * s.size * s.inner, 9);
    for (T& v : x) v = std::round(v * 4);  // ties
    if (s.outer > 2) x[5] = nan;
    std::vector<T> values(at(s.outer * s.inner));
    std::vector<int64_t> places(values.size());
    kernels::index<T>().median(s.outer, s.size, s.inner, x.data(), values.data(), places.data());
    for (int64_t o = 0; o < s.outer; ++o)
      for (int64_t i = 0; i < s.inner; ++i) {
        std::vector<T> line;
        for (int64_t p = 0; p < s.size; ++p) line.push_back(x[at((o * s.size + p) * s.inner + i)]);
        auto wanted = std::find_if(line.begin(), line.end(), [](T v) { return std::isnan(v); });
        if (wanted == line.end()) {
          std::vector<T> sorted = line;
          std::sort(sorted.begin(), sorted.end());
          wanted = std::find(line.begin(), line.end(), sorted[(sorted.size() - 1) / 2]);
        }
        const size_t found = at(o * s.inner + i);
        EXPECT_EQ(places[found], wanted - line.begin());
        EXPECT_TRUE(values[found] == *wanted || (std::isnan(values[found]) && std::isnan(*wanted))) << values[found];
      }
  }
}
TEST_P(Index, MedianIsTheFirstMiddleValue) {
  check_median<float>();
  check_median<double>();
}

template <class T>
void check_sorting() {
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Shape& s :
       {Shape{1, 1, 1, 1}, Shape{3, 17, 1, 5}, Shape{2, 30, 4, 30}, Shape{300, 64, 3, 8}, Shape{1, 0, 3, 0}}) {
    std::vector<T> x = random_values<T>(s.outer * s.size * s.inner, 7);
    for (T& v : x) v = std::round(v * 4);  // ties
    for (size_t i = 5; i < x.size(); i += 11) x[i] = nan;
    for (const bool descending : {false, true}) {
      std::vector<T> values(x.size()), top(at(s.outer * s.count * s.inner));
      std::vector<int64_t> places(x.size()), top_places(top.size());
      kernels::index<T>().sort(s.outer, s.size, s.inner, x.data(), descending, values.data(), places.data());
      kernels::index<T>().topk(s.outer, s.size, s.inner, x.data(), s.count, descending, top.data(), top_places.data());
      for (int64_t o = 0; o < s.outer; ++o)
        for (int64_t i = 0; i < s.inner; ++i) {
          std::vector<int64_t> order;
          for (int64_t p = 0; p < s.size; ++p) order.push_back(p);
          const auto value = [&](int64_t p) { return x[at((o * s.size + p) * s.inner + i)]; };
          std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
            const bool a_nan = std::isnan(value(a)), b_nan = std::isnan(value(b));  // NaN sorts above every number
            if (a_nan || b_nan) return a_nan != b_nan && a_nan == descending;
            return descending ? value(a) > value(b) : value(a) < value(b);
          });
          for (int64_t p = 0; p < s.size; ++p) {
            const int64_t to = (o * s.size + p) * s.inner + i;
            const T wanted = value(order[at(p)]);
            const auto same = [wanted](T got) { return got == wanted || (std::isnan(got) && std::isnan(wanted)); };
            ASSERT_EQ(places[at(to)], order[at(p)]);
            ASSERT_TRUE(same(values[at(to)]));
            if (p >= s.count) continue;
            ASSERT_EQ(top_places[at((o * s.count + p) * s.inner + i)], order[at(p)]);
            ASSERT_TRUE(same(top[at((o * s.count + p) * s.inner + i)]));
          }
        }
    }
  }
}
TEST_P(Index, SortAndTopKOrderValues) {
  check_sorting<float>();
  check_sorting<double>();
}

TEST_P(Index, TriangleClearsOneSideOfTheDiagonal) {
  const int64_t far = std::numeric_limits<int64_t>::max() / 2;
  for (const bool lower : {true, false})
    for (const int64_t diagonal : {int64_t{-9}, int64_t{-2}, int64_t{0}, int64_t{1}, int64_t{9}, far, -far})
      for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{5, 7}, {7, 5}, {1, 1}, {0, 3}, {200, 211}}) {
        const std::vector<float> x = random_values<float>(3 * rows * cols, 8, 1, 2);
        std::vector<float> y(x.size(), 9), wanted = x;
        for (int64_t i = 0; i < 3 * rows * cols; ++i) {
          const int64_t offset = i % cols - i / cols % rows;
          if (lower ? offset > diagonal : offset < diagonal) wanted[at(i)] = 0;
        }
        kernels::index<float>().triangle(3, rows, cols, diagonal, lower, x.data(), y.data());
        EXPECT_EQ(y, wanted) << lower << " " << diagonal;
      }
}

TAPE_EVERY_LEVEL(Index);

}  // namespace
}  // namespace tape::kernels::testing
