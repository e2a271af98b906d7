#include "autograd/kernels/convolution/common/convolution.h"

#include <algorithm>

#include "autograd/kernels/runtime/common/work.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class ConvolutionKernels : public EveryLevel {};

Window axis(int64_t in, int64_t kernel, int64_t stride, int64_t before, int64_t dilation) {
  return {in, kernel, stride, before, dilation, (in + 2 * before - (kernel - 1) * dilation - 1) / stride + 1};
}

/// One block of windows and many, channel counts that do not fill tiles, inputs read in place and through im2col, and
/// each depthwise implementation.
std::vector<Convolution> convolutions() {
  const auto of = [](int64_t batch, int64_t groups, int64_t in, int64_t out, Window rows, Window columns) {
    return Convolution{batch, groups, in, out, {rows, columns}};
  };
  return {of(2, 1, 3, 5, axis(9, 3, 1, 1, 1), axis(8, 3, 1, 1, 1)),
          of(1, 1, 70, 18, axis(30, 3, 1, 1, 1), axis(35, 3, 1, 1, 1)),
          of(2, 2, 6, 7, axis(20, 3, 2, 1, 1), axis(21, 2, 3, 0, 2)),
          of(3, 1, 20, 13, axis(17, 1, 1, 0, 1), axis(19, 1, 1, 0, 1)),
          of(2, 1, 3, 16, axis(16, 4, 4, 0, 1), axis(16, 4, 4, 0, 1)),
          of(2, 1, 5, 6, {}, axis(300, 5, 2, 2, 1)),
          of(2, 5, 1, 1, axis(20, 3, 1, 1, 1), axis(37, 3, 1, 1, 1)),
          of(2, 3, 1, 2, axis(9, 2, 2, 3, 2), axis(11, 3, 3, 0, 1)),
          of(0, 1, 2, 3, axis(4, 2, 1, 0, 1), axis(4, 2, 1, 0, 1))};
}

struct Extent {
  explicit Extent(const Convolution& s)
      : x(s.batch * s.groups * s.in_channels * s.windows.in()),
        weight(s.groups * s.out_channels * s.in_channels * s.windows.taps()),
        y(s.batch * s.groups * s.out_channels * s.windows.out()) {}
  int64_t x, weight, y;
};

/// Calls see(index in y, in weight, in x) for every product of the sum.
template <class Visit>
void for_products(const Convolution& s, const Visit& visit) {
  const Window &rows = s.windows.rows, &columns = s.windows.columns;
  for (int64_t n = 0; n < s.batch; ++n)
    for (int64_t o = 0; o < s.groups * s.out_channels; ++o)
      for (int64_t place = 0; place < s.windows.out(); ++place)
        for (int64_t c = 0; c < s.in_channels; ++c)
          for (int64_t tap = 0; tap < s.windows.taps(); ++tap) {
            const int64_t i = place / columns.out * rows.stride + tap / columns.kernel * rows.dilation - rows.before;
            const int64_t j =
                place % columns.out * columns.stride + tap % columns.kernel * columns.dilation - columns.before;
            if (i < 0 || i >= rows.in || j < 0 || j >= columns.in) continue;
            const int64_t channel = (n * s.groups + o / s.out_channels) * s.in_channels + c;
            visit((n * s.groups * s.out_channels + o) * s.windows.out() + place,
                  (o * s.in_channels + c) * s.windows.taps() + tap, channel * s.windows.in() + i * columns.in + j);
          }
}

template <class T>
struct Results {
  explicit Results(const Convolution& s)
      : y(static_cast<size_t>(Extent(s).y), T(9)),
        dx(static_cast<size_t>(Extent(s).x), T(9)),
        dweight(static_cast<size_t>(Extent(s).weight), T(9)),
        dbias(static_cast<size_t>(s.groups * s.out_channels), T(9)) {}
  std::vector<T> y, dx, dweight, dbias;
};

template <class T>
Results<T> computed(const Convolution& s, const std::vector<T>& x, const std::vector<T>& weight, const T* bias,
                    const std::vector<T>& dy) {
  Results<T> out(s);
  convolution<T>().forward(s, x.data(), weight.data(), bias, out.y.data());
  convolution<T>().backward(s, x.data(), weight.data(), dy.data(), out.dx.data(), out.dweight.data(), out.dbias.data());
  return out;
}

template <class T>
void check_convolutions() {
  const std::vector<Convolution> all = convolutions();
  for (const Convolution& s : all) {
    const Extent n(s);
    const std::vector<T> x = random_values<T>(n.x, 1), weight = random_values<T>(n.weight, 2),
                         dy = random_values<T>(n.y, 3), bias = random_values<T>(s.groups * s.out_channels, 4);
    for (const bool with_bias : {true, false}) {
      Results<double> wanted(s);
      for (std::vector<double>* sums : {&wanted.y, &wanted.dx, &wanted.dweight, &wanted.dbias})
        std::fill(sums->begin(), sums->end(), 0);
      const size_t out = static_cast<size_t>(s.windows.out());
      for (size_t i = 0; i < wanted.y.size() && with_bias; ++i)
        wanted.y[i] = static_cast<double>(bias[i / out % bias.size()]);
      for (size_t i = 0; i < dy.size(); ++i) wanted.dbias[i / out % bias.size()] += static_cast<double>(dy[i]);
      for_products(s, [&](int64_t to, int64_t tap, int64_t from) {
        const size_t a = static_cast<size_t>(to), b = static_cast<size_t>(tap), c = static_cast<size_t>(from);
        wanted.y[a] += static_cast<double>(weight[b]) * static_cast<double>(x[c]);
        wanted.dx[c] += static_cast<double>(weight[b]) * static_cast<double>(dy[a]);
        wanted.dweight[b] += static_cast<double>(x[c]) * static_cast<double>(dy[a]);
      });
      const Results<T> got = computed(s, x, weight, with_bias ? bias.data() : nullptr, dy);
      const std::string what = " of convolution " + std::to_string(&s - all.data());
      expect_close(got.y, wanted.y, tolerance<T>(2e-4, 1e-12), "y" + what);
      expect_close(got.dx, wanted.dx, tolerance<T>(2e-4, 1e-12), "dx" + what);
      expect_close(got.dweight, wanted.dweight, tolerance<T>(4e-4, 1e-12), "dweight" + what);
      expect_close(got.dbias, wanted.dbias, tolerance<T>(1e-5, 1e-13), "dbias" + what);
    }
  }
}

TEST_P(ConvolutionKernels, AreSumsOverWindows) {
  check_convolutions<float>();
  check_convolutions<double>();
}

TEST_P(ConvolutionKernels, AreBitwiseEqualForAnyThreadCount) {
  for (const Convolution& s : convolutions()) {
    const Extent n(s);
    const std::vector<float> x = random_values<float>(n.x, 1), weight = random_values<float>(n.weight, 2),
                             dy = random_values<float>(n.y, 3);
    expect_same_bits([&] { return computed<float>(s, x, weight, nullptr, dy).y; });
    expect_same_bits([&] { return computed<float>(s, x, weight, nullptr, dy).dx; });
    expect_same_bits([&] { return computed<float>(s, x, weight, nullptr, dy).dweight; });
    expect_same_bits([&] { return computed<float>(s, x, weight, nullptr, dy).dbias; });
  }
}

TEST_P(ConvolutionKernels, MatchPerSampleWeightGradients) {
  Convolution s = convolutions()[2], one = s;
  one.batch = 1;
  const Extent n(s), each(one);
  const std::vector<float> x = random_values<float>(n.x, 1), dy = random_values<float>(n.y, 3);
  std::vector<float> got(static_cast<size_t>(2 * n.weight)), wanted(got.size());
  convolution<float>().weight_gradients(one, 2, x.data(), dy.data(), got.data());
  for (int64_t b = 0; b < 2; ++b)
    convolution<float>().backward(one, x.data() + b * each.x, nullptr, dy.data() + b * each.y, nullptr,
                                  wanted.data() + b * n.weight, nullptr);
  EXPECT_EQ(got, wanted);
}

TEST_P(ConvolutionKernels, CountEachProductOnce) {
  const Convolution s = convolutions()[1];
  const Extent n(s);
  const std::vector<float> x = random_values<float>(n.x, 1), weight = random_values<float>(n.weight, 2);
  std::vector<float> y(static_cast<size_t>(n.y));
  const double before = flop_counter();
  convolution<float>().forward(s, x.data(), weight.data(), nullptr, y.data());
  EXPECT_EQ(flop_counter() - before, 2.0 * 18 * 70 * 9 * 30 * 35);
}

TAPE_EVERY_LEVEL(ConvolutionKernels);

}  // namespace
}  // namespace tape::kernels::testing
