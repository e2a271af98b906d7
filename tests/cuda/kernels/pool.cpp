#include "autograd/kernels/convolution/pool.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"
#include "tests/cuda/kernels/windows.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaPool : public KernelTest<T> {
 protected:
  static constexpr int64_t kPlanes = 3;

  void check_largest(const Windows& w, const Array<T>& x) {
    const int64_t n = kPlanes * w.out();
    const Array<T> dy = random_values<T>(n, 2);
    Array<T> y(dy.size()), dx(x.size(), T(7));
    Array<int64_t> places(dy.size());
    pool<T>().largest(w, kPlanes, x.data(), y.data(), places.data());
    pool<T>().scatter_add_at(w, kPlanes, places.data(), dy.data(), dx.data());
    const auto gradient = this->on_device([&] {
      const DeviceArray<T> from(x), g(dy), to(dy.size()), without(dy.size()), back(x.size());
      const DeviceArray<int64_t> at(dy.size());
      const PoolKernels<T>& kernels = pool<T>(kOnDevice);
      kernels.largest(w, kPlanes, from.constant(), to.get(), at.get());
      kernels.largest(w, kPlanes, from.constant(), without.get(), nullptr);
      kernels.scatter_add_at(w, kPlanes, at.constant(), g.constant(), back.get());
      expect_close(to.values(), y, "largest", 0, 0);
      expect_close(without.values(), y, "largest without places", 0, 0);
      EXPECT_EQ(at.values(), places);
      return back.values();
    });
    expect_close(gradient, dx, "gradient of largest");
  }

  void check_mean(const Windows& w, Border border, const Array<T>& x) {
    const Array<T> dy = random_values<T>(kPlanes * w.out(), 3);
    Array<T> y(dy.size(), T(7)), dx(x.size(), T(7));
    pool<T>().mean(w, kPlanes, border, x.data(), y.data());
    pool<T>().mean_gradient(w, kPlanes, border, dy.data(), dx.data());
    const auto gradient = this->on_device([&] {
      const DeviceArray<T> from(x), g(dy), to(dy.size()), back(x.size());
      pool<T>(kOnDevice).mean(w, kPlanes, border, from.constant(), to.get());
      pool<T>(kOnDevice).mean_gradient(w, kPlanes, border, g.constant(), back.get());
      expect_close(to.values(), y, "mean");
      return back.values();
    });
    expect_close(gradient, dx, "gradient of mean");
  }
};
TYPED_TEST_SUITE(CudaPool, BothTypes);

TYPED_TEST(CudaPool, TakesTheLargestValueAsTheCpu) {
  using T = TypeParam;
  for (const Windows& w : dilated_windows_of_planes()) {
    SCOPED_TRACE(fmt::format("{} x {} windows", w.rows.out, w.columns.out));
    const int64_t n = this->kPlanes * w.in();
    this->check_largest(w, random_values<T>(n, 1));
    this->check_largest(w, with_specials<T>(n, 1, {1, 1, -1, 1}, 1));  // equal values
    this->check_largest(w, with_specials<T>(n, 1, {-kInf, kNan, kInf, -kInf, -kInf}, 3));
    this->check_largest(w, Array<T>(static_cast<size_t>(n), static_cast<T>(-kInf)));
  }
}

TYPED_TEST(CudaPool, TakesTheMeanAsTheCpu) {
  for (const Windows& w : windows_of_planes())
    for (const Border border : {Border::counted, Border::left_out}) {
      SCOPED_TRACE(fmt::format("{} x {} windows", w.rows.out, w.columns.out));
      this->check_mean(w, border, random_values<TypeParam>(this->kPlanes * w.in(), 1));
    }
}

}  // namespace
}  // namespace tape::kernels
