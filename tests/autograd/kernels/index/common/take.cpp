#include "autograd/kernels/index/common/take.h"

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

struct Shape {
  int64_t outer, size, inner, count;
};
const Shape kShapes[] = {{1, 1, 1, 1},     {1, 10, 7, 25}, {3, 5, 1, 9}, {1, 300, 130, 700},
                         {40, 50, 17, 60}, {2, 4, 3, 0},   {0, 4, 3, 2}, {1, 5000, 1, 50000}};
size_t at(int64_t i) { return static_cast<size_t>(i); }

int64_t outside(int64_t n, const int64_t* index, int64_t low, int64_t size) {
  Finding found;
  take().check_index({.lines = 1, .count = n, .stride = n, .low = low, .size = size}, index, nullptr, 5, &found);
  EXPECT_EQ(found.check, found.check ? 5 : 0);
  EXPECT_EQ(found.value, found.check ? index[found.position] : 0);
  return found.check ? found.position : -1;
}

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
    take().take(s.outer, s.size, s.inner, sizeof(E), x.data(), s.count, index.data(), taken.data());
    take().gather(s.outer, s.size, s.inner, sizeof(E), x.data(), s.count, each.data(), gathered.data());
    EXPECT_EQ(taken, wanted_taken);
    EXPECT_EQ(gathered, wanted_gathered);
  }
}
TEST(Take, ReadsTheIndexedElements) {
  check_take_and_gather<uint8_t>();
  check_take_and_gather<float>();
  check_take_and_gather<double>();
}

TEST(Take, FirstOutsideReturnsThePositionOfTheFirstInvalidIndex) {
  const int64_t index[] = {0, 4, 3, 5, -1};
  EXPECT_EQ(outside(3, index, 0, 5), -1);
  EXPECT_EQ(outside(5, index, 0, 5), 3);
  EXPECT_EQ(outside(5, index, 0, 6), 4);
  EXPECT_EQ(outside(5, index, -1, 6), -1);
  EXPECT_EQ(outside(0, nullptr, 0, 0), -1);
  std::vector<int64_t> many(60000, 2);  // several chunks
  many[50001] = 7;
  EXPECT_EQ(outside(60000, many.data(), 0, 5), 50001);
}

TEST(Take, FirstOutsideHandlesRangesAboveHalfOfI64) {
  const int64_t half = int64_t{1} << 62;
  const int64_t index[] = {half, -half, INT64_MAX - 1, -INT64_MAX, INT64_MAX, INT64_MIN};
  EXPECT_EQ(outside(4, index, -INT64_MAX, INT64_MAX), -1);
  EXPECT_EQ(outside(5, index, -INT64_MAX, INT64_MAX), 4);
  EXPECT_EQ(outside(1, index + 5, -INT64_MAX, INT64_MAX), 0);
}

TEST(Take, ChecksLinesOfIndicesAndKeepsThoseAccepted) {
  const int64_t index[] = {1, -2, 8, 8, 7, -9, 0, 8, 8};
  const IndexRange range = {.lines = 3, .count = 2, .stride = 3, .low = -4, .size = 4, .ignores = true, .ignored = 7};
  std::vector<int64_t> kept(6, 99);
  Finding found;
  take().check_index(range, index, kept.data(), 2, &found);
  EXPECT_EQ(kept, (std::vector<int64_t>{1, 2, 0, 7, 0, 0}));
  EXPECT_EQ(found.check, 2);
  EXPECT_EQ(found.position, 2);
  EXPECT_EQ(found.value, 8);
}

TEST(Take, KeepsTheFindingOfTheFirstFailedCheck) {
  const bool flags[] = {false, false, true};
  const int64_t none = -1, place = 6;
  Finding found;
  take().check_flags(2, flags, 1, &found);
  take().note_position(&none, 2, &found);
  EXPECT_EQ(found.check, 0);
  take().check_flags(3, flags, 3, &found);
  take().note_position(&place, 4, &found);
  EXPECT_EQ(found.check, 3);
  EXPECT_EQ(found.position, 2);
  found = {};
  take().note_position(&place, 4, &found);
  EXPECT_EQ(found.check, 4);
  EXPECT_EQ(found.position, 6);
}

TEST(Take, WritesTheLastOfRepeatedIndicesAndMarksIt) {
  const int64_t index[] = {2, 0, 2};
  std::vector<float> x(6, 9);
  const std::vector<float> y = {1, 2, 3, 4, 5, 6};
  take().put(1, 3, 2, sizeof(float), x.data(), 3, index, y.data());
  EXPECT_EQ(x, (std::vector<float>{3, 4, 9, 9, 5, 6}));
  const int64_t each[] = {2, 0, 2, 1, 0, 1};
  std::vector<double> z(6, 9);
  const std::vector<double> w = {1, 2, 3, 4, 5, 6};
  take().scatter(1, 3, 2, sizeof(double), z.data(), 3, each, w.data());
  EXPECT_EQ(z, (std::vector<double>{5, 2, 9, 6, 3, 9}));
  Flags last(6);
  bool repeated = false;
  take().mark_last(1, 3, 2, 3, each, last.data(), &repeated);
  EXPECT_TRUE(repeated);
  const bool wanted[] = {false, true, true, false, true, true};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(last[i], wanted[i]) << i;
  take().mark_last(3, 3, 1, 1, index, last.data(), &repeated);
  EXPECT_FALSE(repeated);
  repeated = true;
  const int64_t apart[] = {2, 0, 1, 1, 0, 2};
  take().mark_last(1, 3, 2, 3, apart, last.data(), &repeated);
  EXPECT_FALSE(repeated);
}

TEST(Take, FindsSetFlags) {
  Flags flags(50000);
  std::vector<int64_t> wanted;
  for (int64_t i = 0; i < 50000; i += i % 3 == 0 ? 1 : 5) {
    flags[i] = true;
    wanted.push_back(i);
  }
  int64_t count = -1;
  take().count_true(50000, flags.data(), &count);
  ASSERT_EQ(count, std::ssize(wanted));
  std::vector<int64_t> places(wanted.size());
  take().nonzero(50000, flags.data(), places.data());
  EXPECT_EQ(places, wanted);
  const int64_t flat[] = {4, 2};
  std::vector<int64_t> index(4);
  take().unravel(2, flat, {.rank = 2, .values = {2, 3}}, index.data());
  EXPECT_EQ(index, (std::vector<int64_t>{1, 1, 0, 2}));
}

}  // namespace
}  // namespace tape::kernels::testing
