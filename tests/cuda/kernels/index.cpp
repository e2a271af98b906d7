#include "autograd/kernels/index/index.h"

#include <cmath>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

// Few places and many values; more places than one digit of the sort has; more than one tile of it.
const AxisShape kIndexShapes[] = {{1, 1, 1, 1},
                                  {1, 3, 1, 1000},
                                  {3, 7, 31, 5},
                                  {2, 5, 1, 33},
                                  {4, 3, 33, 0},
                                  {0, 3, 2, 4},
                                  {2, 3, 0, 4},
                                  {2, 0, 3, 0},
                                  {1, 9, 40, 1},
                                  {1, 70000, 1, 31},
                                  {1, 600, 1, 5000},
                                  // Without sorting; sums of keys in many chunks of sorted slices, and in few.
                                  {1, 65, 70, 300},
                                  {1, 3, 5, 5000},
                                  {1, 2, 33, 2112},
                                  {1, 1, 2, 2500},
                                  {1, 5000, 3, 2049}};

template <class T>
class CudaIndex : public KernelTest<T> {
 protected:
  static const IndexKernels<T>& cpu() { return index<T>(); }
  static const IndexKernels<T>& gpu() { return index<T>(kOnDevice); }
};
TYPED_TEST_SUITE(CudaIndex, BothTypes);

template <class T>
struct IndexOperands {
  explicit IndexOperands(const AxisShape& s)
      : x_values(special_and_random<T>(s.outer * s.size * s.inner)),
        y_values(special_and_random<T>(s.outer * s.count * s.inner, 2, -1, 1)),
        index_values(random_integers(s.outer * s.count * s.inner, 0, std::max<int64_t>(s.size, 1), 3)) {}

  std::vector<T> x_values, y_values;
  std::vector<int64_t> index_values;
  DeviceArray<T> x_device{x_values}, y_device{y_values};
  DeviceArray<int64_t> index_device{index_values};
};

/// The results of the CPU have the same order of sums, and therefore the same bits.
TYPED_TEST(CudaIndex, RepeatedIndicesAreCombinedInOrder) {
  using T = TypeParam;
  for (const AxisShape& s : kIndexShapes) {
    SCOPED_TRACE(text(s));
    IndexOperands<T> o(s);
    const auto expect_same = [&](const auto& cpu, const auto& gpu) {
      expect_same_results(
          this->device, o.x_values, [&](T* x) { cpu(x, o.index_values.data(), o.y_values.data()); },
          [&](T* x) { gpu(x, o.index_device.constant(), o.y_device.constant()); });
    };
    const auto scatter_add = [&](const IndexKernels<T>& kernels) {
      return [&](T* x, const int64_t* index, const T* y) {
        kernels.scatter_add(s.outer, s.size, s.inner, x, x, s.count, index, y);
      };
    };
    const auto scatter_mul = [&](const IndexKernels<T>& kernels) {
      return [&](T* x, const int64_t* index, const T* y) {
        kernels.scatter_mul(s.outer, s.size, s.inner, x, s.count, index, y);
      };
    };
    const auto scatter_extremum = [&](const IndexKernels<T>& kernels, bool largest) {
      return [&, largest](T* x, const int64_t* index, const T* y) {
        kernels.scatter_extremum(s.outer, s.size, s.inner, x, s.count, index, y, largest);
      };
    };
    expect_same(scatter_add(this->cpu()), scatter_add(this->gpu()));
    expect_same(scatter_mul(this->cpu()), scatter_mul(this->gpu()));
    expect_same(scatter_extremum(this->cpu(), true), scatter_extremum(this->gpu(), true));
    expect_same(scatter_extremum(this->cpu(), false), scatter_extremum(this->gpu(), false));
    expect_same_results(
        this->device, std::vector<T>(o.x_values.size()),
        [&](T* sums) {
          this->cpu().scatter_add(s.outer, s.size, s.inner, o.x_values.data(), sums, s.count, o.index_values.data(),
                                  o.y_values.data());
        },
        [&](T* sums) {
          this->gpu().scatter_add(s.outer, s.size, s.inner, o.x_device.get(), sums, s.count, o.index_device.get(),
                                  o.y_device.get());
        });
  }
}

/// The CPU adds in the order of the index; a GPU adds parts of it, or of what sorting made neighbors.
TYPED_TEST(CudaIndex, AddsSlices) {
  using T = TypeParam;
  for (const AxisShape& s : kIndexShapes) {
    SCOPED_TRACE(text(s));
    Array<T> x = random_values<T>(s.outer * s.size * s.inner, 1), y = random_values<T>(s.outer * s.count * s.inner, 2);
    if (y.size() > 10) y[3] = static_cast<T>(kInf), y[8] = static_cast<T>(kNan);
    const std::vector<int64_t> index = random_integers(s.count, 0, std::max<int64_t>(s.size, 1), 3);
    Array<T> expected = x;
    this->cpu().add_at(s.outer, s.size, s.inner, expected.data(), s.count, index.data(), y.data());
    const DeviceArray<T> from(y);
    const DeviceArray<int64_t> index_device(index);
    const auto actual = this->on_device([&] {
      const DeviceArray<T> sums(x);
      this->gpu().add_at(s.outer, s.size, s.inner, sums.get(), s.count, index_device.constant(), from.constant());
      return sums.values();
    });
    expect_close(actual, expected, "add_at", std::sqrt(static_cast<double>(s.count + 1)));
  }
}

TYPED_TEST(CudaIndex, KeepsTriangles) {
  using T = TypeParam;
  const std::vector<T> values = special_and_random<T>(2 * 9 * 33);
  const DeviceArray<T> on_device(values);
  for (const int64_t rows : {9, 33})
    for (const int64_t diagonal : {int64_t{0}, int64_t{-3}, int64_t{5}, INT64_MAX, INT64_MIN})
      for (const bool lower : {false, true}) {
        const int64_t cols = 297 / rows;
        expect_same_results(
            this->device, std::vector<T>(values.size()),
            [&](T* y) { this->cpu().triangle(2, rows, cols, diagonal, lower, values.data(), y); },
            [&](T* y) { this->gpu().triangle(2, rows, cols, diagonal, lower, on_device.constant(), y); });
      }
}

/// Values and indices of a sorting entry, as one list of values of T: small integers are exact in both types.
TYPED_TEST(CudaIndex, SortsTopKAndMedians) {
  using T = TypeParam;
  for (const AxisShape& s :
       {AxisShape{1, 1, 1, 1}, {1, 1000, 1, 20}, {3, 33, 1, 33}, {2, 31, 33, 5}, {0, 3, 2, 2}, {1, 7, 2, 0}}) {
    SCOPED_TRACE(text(s));
    std::vector<T> values = special_and_random<T>(s.outer * s.size * s.inner);
    for (size_t i = 0; i + 40 < values.size(); i += 2) values[i + 1] = values[i / 3];  // ties
    if (s.inner == 1)                                                                  // and the first line without NaN
      for (size_t i = 0; i < values.size() && i < static_cast<size_t>(s.size); ++i)
        if (std::isnan(values[i])) values[i] = 1;
    const DeviceArray<T> on_device(values);
    // Runs `entry` with a buffer of n values and one of n indices, and expects the same in both.
    const auto expect_same_lines = [&](size_t n, const auto& entry) {
      std::vector<T> lines(n);
      std::vector<int64_t> places(n);
      std::vector<T> cpu_lines = lines;
      std::vector<int64_t> cpu_places = places;
      entry(this->cpu(), values.data(), cpu_lines.data(), cpu_places.data());
      for (int schedule = 0; schedule < 3; ++schedule) {
        this->device.set_schedule(schedule);
        const DeviceArray<T> gpu_lines(lines);
        const DeviceArray<int64_t> gpu_places(places);
        entry(this->gpu(), on_device.constant(), gpu_lines.get(), gpu_places.get());
        expect_close(gpu_lines.values(), cpu_lines, "values", 0, 0);
        expect_close(gpu_places.values(), cpu_places, "places");
      }
    };
    for (const bool largest : {false, true}) {
      expect_same_lines(values.size(), [&](const IndexKernels<T>& kernels, const T* from, T* to, int64_t* index) {
        kernels.sort(s.outer, s.size, s.inner, from, largest, to, index);
      });
      expect_same_lines(static_cast<size_t>(s.outer * s.count * s.inner),
                        [&](const IndexKernels<T>& kernels, const T* from, T* to, int64_t* index) {
                          kernels.topk(s.outer, s.size, s.inner, from, s.count, largest, to, index);
                        });
    }
    expect_same_lines(static_cast<size_t>(s.outer * s.inner),
                      [&](const IndexKernels<T>& kernels, const T* from, T* to, int64_t* index) {
                        kernels.median(s.outer, s.size, s.inner, from, to, index);
                      });
  }
}

}  // namespace
}  // namespace tape::kernels
