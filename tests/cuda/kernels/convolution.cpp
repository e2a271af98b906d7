#include "autograd/kernels/convolution/common/convolution.h"

#include <fmt/format.h>

#include "tests/cuda/kernels/beside_cpu.h"
#include "tests/cuda/kernels/windows.h"

namespace tape::kernels {
namespace {
using namespace beside_cpu;

template <class T>
class CudaConvolution : public KernelTest<T> {
 protected:
  void check(const Convolution& s) {
    SCOPED_TRACE(fmt::format("batch {}, {} groups of {} to {} channels, {} x {} windows", s.batch, s.groups,
                             s.in_channels, s.out_channels, s.windows.rows.out, s.windows.columns.out));
    const int64_t in = s.batch * s.groups * s.in_channels * s.windows.in();
    const int64_t out = s.batch * s.groups * s.out_channels * s.windows.out();
    const int64_t weights = s.groups * s.out_channels * s.in_channels * s.windows.taps();
    const int64_t channels = s.groups * s.out_channels;
    const Array<T> x = random_values<T>(in, 1), weight = random_values<T>(weights, 2);
    const Array<T> bias = random_values<T>(channels, 3), dy = random_values<T>(out, 4);
    for (const bool with_bias : {false, true}) {
      Array<T> expected(dy.size(), T(7));
      convolution<T>().forward(s, x.data(), weight.data(), with_bias ? bias.data() : nullptr, expected.data());
      const auto y = this->on_device([&] {
        const DeviceArray<T> from(x), factors(weight), shift(bias), to(dy.size());
        convolution<T>(kOnDevice).forward(s, from.constant(), factors.constant(),
                                          with_bias ? shift.constant() : nullptr, to.get());
        return to.values();
      });
      expect_close(y, expected, "y", 8);
    }
    Array<T> dx(x.size(), T(7)), dweight(weight.size(), T(7)), dbias(bias.size(), T(7));
    convolution<T>().backward(s, x.data(), weight.data(), dy.data(), dx.data(), dweight.data(), dbias.data());
    for (const int asked : {0b111, 0b001, 0b010, 0b100}) {
      const auto gradients = this->on_device([&] {
        const DeviceArray<T> from(x), factors(weight), g(dy);
        const DeviceArray<T> to_x(Array<T>(x.size(), T(7))), to_weight(Array<T>(weight.size(), T(7))),
            to_bias(Array<T>(bias.size(), T(7)));
        convolution<T>(kOnDevice).backward(s, from.constant(), factors.constant(), g.constant(),
                                           asked & 1 ? to_x.get() : nullptr, asked & 2 ? to_weight.get() : nullptr,
                                           asked & 4 ? to_bias.get() : nullptr);
        if (asked & 1) expect_close(to_x.values(), dx, "dx", 8);
        if (asked & 4) expect_close(to_bias.values(), dbias, "dbias", 30);
        return to_weight.values();
      });
      expect_close(gradients, asked & 2 ? dweight : Array<T>(weight.size(), T(7)), "dweight", 30);
    }
  }

  void check_samples(const Convolution& s, int64_t samples) {
    const int64_t in = s.batch * s.groups * s.in_channels * s.windows.in();
    const int64_t out = s.batch * s.groups * s.out_channels * s.windows.out();
    const int64_t weights = s.groups * s.out_channels * s.in_channels * s.windows.taps();
    const Array<T> x = random_values<T>(samples * in, 1), dy = random_values<T>(samples * out, 4);
    Array<T> expected(static_cast<size_t>(samples * weights));
    convolution<T>().weight_gradients(s, samples, x.data(), dy.data(), expected.data());
    const auto dweights = this->on_device([&] {
      const DeviceArray<T> from(x), g(dy), to(expected.size());
      convolution<T>(kOnDevice).weight_gradients(s, samples, from.constant(), g.constant(), to.get());
      return to.values();
    });
    expect_close(dweights, expected, "dweights", 30);
  }
};
TYPED_TEST_SUITE(CudaConvolution, BothTypes);

TYPED_TEST(CudaConvolution, IsThatOfTheCpu) {
  for (const Windows& windows : dilated_windows_of_planes()) {
    this->check({.batch = 2, .groups = 1, .in_channels = 3, .out_channels = 2, .windows = windows});
    this->check({.batch = 1, .groups = 2, .in_channels = 2, .out_channels = 3, .windows = windows});
    this->check({.batch = 2, .groups = 3, .in_channels = 1, .out_channels = 2, .windows = windows});  // depthwise
  }
  // Each window is one value, and no sample.
  this->check({.batch = 2, .groups = 1, .in_channels = 5, .out_channels = 4, .windows = {{}, window_over(9, 1, 1, 0)}});
  this->check({.batch = 0, .groups = 1, .in_channels = 2, .out_channels = 3, .windows = {{}, window_over(9, 3, 1, 0)}});
}

TYPED_TEST(CudaConvolution, HasTheWeightGradientsOfSamples) {
  const Windows windows = {window_over(6, 3, 2, 1), window_over(7, 2, 1, 0)};
  this->check_samples({.batch = 2, .groups = 2, .in_channels = 2, .out_channels = 3, .windows = windows}, 3);
  this->check_samples({.batch = 1, .groups = 3, .in_channels = 1, .out_channels = 1, .windows = windows}, 4);
  this->check_samples({.batch = 1, .groups = 3, .in_channels = 1, .out_channels = 1, .windows = windows}, 0);
}

}  // namespace
}  // namespace tape::kernels
