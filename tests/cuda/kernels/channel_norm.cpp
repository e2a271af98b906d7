#include "autograd/kernels/norm/channel_norm.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaChannelNorm : public KernelTest<T> {
 protected:
  using Kernels = const ChannelNormKernels<T>&;

  /// Compares call(kernels, pointer of each input..., outputs) for outputs of n values in all, which hold 1 before.
  template <class Call, class... Inputs>
  void check(const char* what, int64_t n, double size, const Call& call, const Inputs&... inputs) {
    Array<T> expected(static_cast<size_t>(n), T(1));
    call(channel_norm<T>(), inputs.data()..., expected.data());
    const auto actual = this->on_device([&] {
      const DeviceArray<T> to(Array<T>(static_cast<size_t>(n), T(1)));
      [&](const auto&... from) {
        call(channel_norm<T>(kOnDevice), from.constant()..., to.get());
      }(DeviceArray<T>(inputs)...);
      return to.values();
    });
    expect_close(actual, expected, what, size);
  }
  void check_all(const ChannelPlanes& s, const Array<T>& x, bool affine) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}], {} together", s.outer, s.channels, s.size, s.together));
    const int64_t n = s.outer * s.channels * s.size, C = s.channels;
    const int64_t groups = s.together ? s.outer * C / s.together : C;
    const Array<T> weight = random_values<T>(C, 5), bias = random_values<T>(C, 6), dy = random_values<T>(n, 7);
    Array<T> given_var = random_values<T>(C, 8);
    for (T& value : given_var) value = value * value + T(0.1);
    check(
        "normalize", n + 2 * groups + 2 * C, 1,
        [&](Kernels k, const T* from, const T* w, const T* b, T* to) {
          T* const stats = to + n;
          RunningStats<T> running = {.momentum = 0.1};
          if (s.together == 0) running = {stats + 2 * groups, stats + 2 * groups + C, 0.1};
          k.normalize(s, from, affine ? w : nullptr, affine ? b : nullptr, 1e-5, running, to, stats, stats + groups);
        },
        x, weight, bias);
    if (s.together == 0)
      check(
          "normalize_by", n + 2 * C, 1,
          [&](Kernels k, const T* from, const T* var, const T* w, const T* b, T* to) {
            k.normalize_by(s, from, b, var, affine ? w : nullptr, affine ? b : nullptr, 1e-5, to, to + n, to + n + C);
          },
          x, given_var, weight, bias);
    Array<T> y(x.size()), mean(static_cast<size_t>(groups)), rstd(mean);
    channel_norm<T>().normalize(s, x.data(), nullptr, nullptr, 1e-5, {}, y.data(), mean.data(), rstd.data());
    // Rounding errors are multiplied by rstd, which is large for constant planes.
    double size = std::sqrt(static_cast<double>(std::max<int64_t>(1, n)));
    for (const T inverse : rstd)
      if (inverse > size) size = static_cast<double>(inverse);
    for (const MeanOf of : {MeanOf::x, MeanOf::given})
      for (const bool only_dx : {false, true}) {
        if (of == MeanOf::given && s.together != 0) continue;
        check(
            "backward", n + 2 * C, size,
            [&](Kernels k, const T* from, const T* w, const T* mu, const T* inverse, const T* g, T* to) {
              k.backward(s, of, from, affine ? w : nullptr, mu, inverse, g, to, only_dx ? nullptr : to + n,
                         only_dx ? nullptr : to + n + C);
            },
            x, weight, mean, rstd, dy);
      }
    check(
        "backward of the parameters", 2 * C, size,
        [&](Kernels k, const T* from, const T* mu, const T* inverse, const T* g, T* to) {
          k.backward(s, MeanOf::x, from, nullptr, mu, inverse, g, nullptr, to, to + C);
        },
        x, mean, rstd, dy);
  }
};
TYPED_TEST_SUITE(CudaChannelNorm, BothTypes);

constexpr ChannelPlanes kChannelPlanes[] = {
    {2, 3, 5, 0}, {33, 4, 1, 0}, {3, 2, 33, 0}, {4, 2, 600, 0}, {600, 20, 1, 0}, {0, 3, 5, 0}, {2, 3, 0, 0},
    {2, 4, 5, 2}, {3, 6, 1, 6},  {2, 4, 33, 1}, {1, 4, 600, 4}, {2, 2, 1100, 1}, {0, 4, 5, 2}, {2, 4, 0, 2}};

TYPED_TEST(CudaChannelNorm, IsThatOfTheCpu) {
  using T = TypeParam;
  for (const ChannelPlanes& s : kChannelPlanes)
    for (const bool affine : {false, true})
      this->check_all(s, random_values<T>(s.outer * s.channels * s.size, 1), affine);
}

TYPED_TEST(CudaChannelNorm, TreatsSpecialPlanesAsTheCpu) {
  using T = TypeParam;
  for (const ChannelPlanes& s : kChannelPlanes) {
    Array<T> x = random_values<T>(s.outer * s.channels * s.size, 2);
    if (x.empty()) continue;
    x[0] = static_cast<T>(kInf);
    x[x.size() / 2] = static_cast<T>(kNan);
    this->check_all(s, x, true);
    this->check_all(s, Array<T>(x.size(), T(2)), true);  // variance 0
  }
}

}  // namespace
}  // namespace tape::kernels
