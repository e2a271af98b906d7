#include "autograd/kernels/reduce/reduce.h"

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaReduce : public KernelTest<T> {};
TYPED_TEST_SUITE(CudaReduce, BothTypes);

template <class T>
const ReduceKernels<T>& reduce_on_device() {
  return reduce<T>(kOnDevice);
}

TYPED_TEST(CudaReduce, SumsAreThoseOfTheCpu) {
  using T = TypeParam;
  const auto check = [&](const AxisShape& s, const Array<T>& x) {
    Array<T> expected(static_cast<size_t>(s.lines()));
    reduce<T>().sum(s.outer, s.size, s.inner, x.data(), expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> from(x), to(expected.size());
      reduce_on_device<T>().sum(s.outer, s.size, s.inner, from.constant(), to.get());
      return to.values();
    });
    expect_close(actual, expected, "sum", std::sqrt(static_cast<double>(s.size)));
  };
  for (const AxisShape& s : kAxisShapes) {
    check(s, random_values<T>(s.elements(), 1));
    check(s, with_specials<T>(s.elements(), 2, {kInf, 0, 1, -kInf, 0, kNan}, 40));
  }
  check({2, 0, 3}, {});
}

TYPED_TEST(CudaReduce, ExtremaAndTheirIndicesAreThoseOfTheCpu) {
  using T = TypeParam;
  const auto check = [&](const AxisShape& s, const Array<T>& x, auto entry) {
    const size_t lines = static_cast<size_t>(s.lines());
    Array<T> expected(lines);
    Array<int64_t> at(lines);
    (reduce<T>().*entry)(s.outer, s.size, s.inner, x.data(), expected.data(), at.data());
    const auto indices = this->on_device([&] {
      const DeviceArray<T> from(x), to(lines);
      const DeviceArray<int64_t> index(lines);
      (reduce_on_device<T>().*entry)(s.outer, s.size, s.inner, from.constant(), to.get(), index.get());
      expect_close(to.values(), expected, "extremum", 0, 0);
      return index.values();
    });
    EXPECT_EQ(indices, at);
    const DeviceArray<T> from(x), to(lines);
    (reduce_on_device<T>().*entry)(s.outer, s.size, s.inner, from.constant(), to.get(), nullptr);
    expect_close(to.values(), expected, "extremum without indices", 0, 0);
  };
  for (const AxisShape& s : kAxisShapes)
    for (auto entry : {&ReduceKernels<T>::max, &ReduceKernels<T>::min}) {
      check(s, random_values<T>(s.elements(), 3), entry);
      check(s, with_specials<T>(s.elements(), 4, {2, -2, 2, -2, kInf, -kInf}, 3), entry);  // equal values
      check(s, with_specials<T>(s.elements(), 5, {kNan, kInf, 0, -kInf}, 19), entry);
    }
}

TYPED_TEST(CudaReduce, SpansAreReducedTogether) {
  using T = TypeParam;
  const auto check = [&](const std::vector<Array<T>>& values) {
    std::vector<Span<T>> here, there;
    std::vector<std::unique_ptr<DeviceArray<T>>> arrays;
    for (const Array<T>& span : values) {
      arrays.push_back(std::make_unique<DeviceArray<T>>(span));
      here.push_back({span.data(), static_cast<int64_t>(span.size())});
      there.push_back({arrays.back()->get(), here.back().n});
    }
    const int64_t count = static_cast<int64_t>(here.size());
    double squares = 0;
    int64_t first = 0;
    reduce<T>().sum_of_squares(count, here.data(), &squares);
    reduce<T>().first_not_finite(count, here.data(), &first);
    const auto actual = this->on_device([&] {
      const DeviceArray<double> result(1);
      reduce_on_device<T>().sum_of_squares(count, there.data(), result.get());
      return result.values();
    });
    expect_close(actual, {squares}, "sum of squares", 0);
    const auto found = this->on_device([&] {
      const DeviceArray<int64_t> result(1);
      reduce_on_device<T>().first_not_finite(count, there.data(), result.get());
      return result.values();
    });
    EXPECT_EQ(found[0], first);
  };
  check({});
  check({{}});
  check({random_values<T>(1, 1), {}, random_values<T>(33, 2), random_values<T>(70000, 3), {}});
  check(std::vector<Array<T>>(300, random_values<T>(3, 4)));
  check({random_values<T>(5, 1), with_specials<T>(1000, 2, {kNan}, 999)});
  check({with_specials<T>(7, 1, {-kInf}, 6), random_values<T>(5, 2)});
  std::vector<Array<T>> many(300, random_values<T>(3, 4));
  many[200][1] = many[270][2] = kInf;
  check(many);
}

}  // namespace
}  // namespace tape::kernels
