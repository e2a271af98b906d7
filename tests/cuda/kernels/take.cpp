#include "autograd/kernels/index/common/take.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

using Integers = std::vector<int64_t>;

const AxisShape kTakeShapes[] = {{1, 1, 1, 1},  {1, 33, 1, 1000}, {3, 7, 31, 5}, {2, 5, 1, 33},
                                 {4, 3, 33, 0}, {0, 3, 2, 4},     {2, 3, 0, 4},  {1, 9, 40, 25}};

/// Elements of x [outer, size, inner] and y [outer, count, inner], and indices, on the host and the device.
template <class E>
struct TakeOperands {
  explicit TakeOperands(const AxisShape& s)
      : x_values(elements(s.outer * s.size * s.inner, 1)),
        y_values(elements(s.outer * s.count * s.inner, 2)),
        index_values(random_integers(s.outer * s.count * s.inner, 0, s.size, 3)),
        slice_values(random_integers(s.count, 0, s.size, 4)) {}

  static std::vector<E> elements(int64_t count, uint32_t seed) {
    std::vector<E> values;
    for (const int64_t value : random_integers(count, 0, 1 << 20, seed)) values.push_back(static_cast<E>(value));
    return values;
  }

  std::vector<E> x_values, y_values;
  Integers index_values, slice_values;
  DeviceArray<E> x_device{x_values}, y_device{y_values};
  DeviceArray<int64_t> index_device{index_values}, slices_device{slice_values};
};

template <class E>
void expect_takes_and_writes() {
  TestDevice device;
  for (const AxisShape& s : kTakeShapes) {
    SCOPED_TRACE(text(s));
    TakeOperands<E> o(s);
    const std::vector<E> empty(o.y_values.size());
    expect_same_results(
        device, empty,
        [&](E* y) {
          take().take(s.outer, s.size, s.inner, sizeof(E), o.x_values.data(), s.count, o.slice_values.data(), y);
        },
        [&](E* y) {
          cuda::take.take(s.outer, s.size, s.inner, sizeof(E), o.x_device.get(), s.count, o.slices_device.get(), y);
        });
    expect_same_results(
        device, empty,
        [&](E* y) {
          take().gather(s.outer, s.size, s.inner, sizeof(E), o.x_values.data(), s.count, o.index_values.data(), y);
        },
        [&](E* y) {
          cuda::take.gather(s.outer, s.size, s.inner, sizeof(E), o.x_device.get(), s.count, o.index_device.get(), y);
        });
    expect_same_results(
        device, o.x_values,
        [&](E* x) {
          take().put(s.outer, s.size, s.inner, sizeof(E), x, s.count, o.slice_values.data(), o.y_values.data());
        },
        [&](E* x) {
          cuda::take.put(s.outer, s.size, s.inner, sizeof(E), x, s.count, o.slices_device.get(), o.y_device.get());
        });
    expect_same_results(
        device, o.x_values,
        [&](E* x) {
          take().scatter(s.outer, s.size, s.inner, sizeof(E), x, s.count, o.index_values.data(), o.y_values.data());
        },
        [&](E* x) {
          cuda::take.scatter(s.outer, s.size, s.inner, sizeof(E), x, s.count, o.index_device.get(), o.y_device.get());
        });
  }
}

TEST(CudaTake, ElementsOfEverySize) {
  expect_takes_and_writes<uint8_t>();
  expect_takes_and_writes<uint16_t>();
  expect_takes_and_writes<uint32_t>();
  expect_takes_and_writes<uint64_t>();
}

TEST(CudaTake, MarksOfTheLastWrites) {
  TestDevice device;
  for (const AxisShape& s : kTakeShapes) {
    SCOPED_TRACE(text(s));
    TakeOperands<uint8_t> o(s);
    const size_t n = o.y_values.size();
    std::vector<uint8_t> start(n + 1, 7);  // the marks, then whether an index is repeated
    expect_same_results(
        device, start,
        [&](uint8_t* last) {
          take().mark_last(s.outer, s.size, s.inner, s.count, o.index_values.data(), flags(last), flags(last + n));
        },
        [&](uint8_t* last) {
          cuda::take.mark_last(s.outer, s.size, s.inner, s.count, o.index_device.get(), flags(last), flags(last + n));
        });
  }
  const Integers distinct = {3, 1, 2, 0};
  const DeviceArray<int64_t> on_device(distinct);
  expect_same_results(
      device, std::vector<uint8_t>(5, 7),
      [&](uint8_t* last) { take().mark_last(1, 4, 1, 4, distinct.data(), flags(last), flags(last + 4)); },
      [&](uint8_t* last) { cuda::take.mark_last(1, 4, 1, 4, on_device.constant(), flags(last), flags(last + 4)); });
}

Finding* finding_at(int64_t* values) { return reinterpret_cast<Finding*>(values); }

TEST(CudaTake, IndicesAreChecked) {
  TestDevice device;
  for (const int64_t n : kCounts)
    for (const int64_t bad : {int64_t{-1}, int64_t{0}, n / 2, n - 1})
      for (const int64_t value : {int64_t{100}, int64_t{-6}, INT64_MAX, INT64_MIN, int64_t{-77}}) {
        Integers indices = random_integers(n, -5, 100);
        if (bad >= 0 && bad < n) indices[static_cast<size_t>(bad)] = indices.back() = value;
        const DeviceArray<int64_t> on_device(indices);
        const IndexRange whole = {
            .lines = 1, .count = n, .stride = n, .low = -5, .size = 100, .ignores = true, .ignored = -77};
        IndexRange lines = whole;
        lines.lines = n / 3, lines.count = 2, lines.stride = 3;
        for (const IndexRange& range : {whole, lines})
          expect_same_results(
              device, Integers(static_cast<size_t>(n + 3)),
              [&](int64_t* to) { take().check_index(range, indices.data(), to + 3, 9, finding_at(to)); },
              [&](int64_t* to) { cuda::take.check_index(range, on_device.constant(), to + 3, 9, finding_at(to)); });
      }
}

TEST(CudaTake, FindingsOfFlagsAndPositions) {
  TestDevice device;
  for (const int64_t n : {1, 33, 5000})
    for (const int64_t first : {int64_t{-1}, int64_t{0}, n / 2, n - 1})
      for (const int64_t earlier : {0, 4}) {
        std::vector<uint8_t> values(static_cast<size_t>(n));
        if (first >= 0) values[static_cast<size_t>(first)] = values.back() = 1;
        const DeviceArray<uint8_t> on_device(values);
        expect_same_results(
            device, Integers{earlier, 0, 0},
            [&](int64_t* to) { take().check_flags(n, flags(values.data()), 6, finding_at(to)); },
            [&](int64_t* to) { cuda::take.check_flags(n, flags(on_device.get()), 6, finding_at(to)); });
        const Integers position = {first};
        const DeviceArray<int64_t> position_there(position);
        expect_same_results(
            device, Integers{earlier, 0, 0},
            [&](int64_t* to) { take().note_position(position.data(), 6, finding_at(to)); },
            [&](int64_t* to) { cuda::take.note_position(position_there.constant(), 6, finding_at(to)); });
      }
}

TEST(CudaTake, CountsAndMultiIndices) {
  TestDevice device;
  const Sizes sizes = {.rank = 3, .values = {4, 5, 7}};
  for (const int64_t n : kCounts) {
    SCOPED_TRACE(std::to_string(n) + " indices");
    const Integers positions = random_integers(n, 0, 140);
    const DeviceArray<int64_t> place_on_device(positions);
    expect_same_results(
        device, Integers(140, 3), [&](int64_t* counts) { take().bincount(n, positions.data(), counts); },
        [&](int64_t* counts) { cuda::take.bincount(n, place_on_device.constant(), counts); });
    expect_same_results(
        device, Integers(3 * positions.size()), [&](int64_t* y) { take().unravel(n, positions.data(), sizes, y); },
        [&](int64_t* y) { cuda::take.unravel(n, place_on_device.constant(), sizes, y); });
  }
}

TEST(CudaTake, SetFlagsAreCountedAndFound) {
  TestDevice device;
  for (const int64_t n : {0, 1, 31, 33, 1000, 5000})
    for (const int64_t one_of : {1, 2, 50}) {
      SCOPED_TRACE(std::to_string(n) + " flags");
      std::vector<uint8_t> values;
      for (const int64_t value : random_integers(n, 0, one_of)) values.push_back(value == 0);
      const DeviceArray<uint8_t> on_device(values);
      expect_same_results(
          device, Integers{77}, [&](int64_t* count) { take().count_true(n, flags(values.data()), count); },
          [&](int64_t* count) { cuda::take.count_true(n, flags(on_device.get()), count); });
      const auto found = static_cast<size_t>(std::count(values.begin(), values.end(), 1));
      expect_same_results(
          device, Integers(found), [&](int64_t* places) { take().nonzero(n, flags(values.data()), places); },
          [&](int64_t* places) { cuda::take.nonzero(n, flags(on_device.get()), places); });
    }
}

}  // namespace
}  // namespace tape::kernels
