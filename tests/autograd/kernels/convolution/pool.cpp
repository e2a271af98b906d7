#include "autograd/kernels/convolution/pool.h"

#include <algorithm>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class PoolKernelsAt : public EveryLevel {};

/// With `over`, the last windows extend past the end.
Window pooled(int64_t in, int64_t kernel, int64_t stride, int64_t before, int64_t dilation, bool over = false) {
  const int64_t reach = (kernel - 1) * dilation + 1;
  return {in, kernel, stride, before, dilation, (in + 2 * before - reach + (over ? stride - 1 : 0)) / stride + 1};
}

std::vector<Windows> pools() {
  return {{pooled(8, 2, 2, 0, 1), pooled(70, 2, 2, 0, 1)},
          {pooled(9, 3, 1, 1, 1), pooled(41, 3, 1, 1, 1)},
          {pooled(10, 3, 2, 1, 1, true), pooled(40, 3, 3, 1, 1, true)},
          {{}, pooled(50, 4, 3, 2, 1)},
          {pooled(12, 2, 1, 0, 3), pooled(33, 3, 2, 1, 2)},
          {pooled(5, 5, 1, 0, 1), pooled(6, 6, 1, 0, 1)}};
}

/// Calls see(index of the window, index of the value) for all values of all windows of a plane.
template <class Visit>
void for_values(const Windows& w, const Visit& visit) {
  for (int64_t place = 0; place < w.out(); ++place)
    for (int64_t tap = 0; tap < w.taps(); ++tap) {
      const int64_t i =
          place / w.columns.out * w.rows.stride + tap / w.columns.kernel * w.rows.dilation - w.rows.before;
      const int64_t j =
          place % w.columns.out * w.columns.stride + tap % w.columns.kernel * w.columns.dilation - w.columns.before;
      if (i >= 0 && i < w.rows.in && j >= 0 && j < w.columns.in) visit(place, i * w.columns.in + j);
    }
}

template <class T>
void check_largest() {
  constexpr int64_t kPlanes = 3;
  for (const Windows& w : pools()) {
    std::vector<T> x = random_values<T>(kPlanes * w.in(), 1);
    for (T& value : x) value = static_cast<T>(static_cast<int>(value * 4));  // many ties
    const std::vector<T> dy = random_values<T>(kPlanes * w.out(), 2);
    std::vector<T> y(dy.size()), dx(x.size(), T(9));
    std::vector<int64_t> places(dy.size());
    pool<T>().largest(w, kPlanes, x.data(), y.data(), places.data());
    pool<T>().scatter_add_at(w, kPlanes, places.data(), dy.data(), dx.data());
    std::vector<double> wanted_dx(x.size());
    for (int64_t p = 0; p < kPlanes; ++p) {
      std::vector<int64_t> best(static_cast<size_t>(w.out()), -1);
      const T* plane = x.data() + p * w.in();
      for_values(w, [&](int64_t window, int64_t value) {
        int64_t& at = best[static_cast<size_t>(window)];
        if (at < 0 || plane[value] > plane[at]) at = value;
      });
      for (size_t i = 0; i < best.size(); ++i) {
        const size_t at = i + static_cast<size_t>(p * w.out());
        EXPECT_EQ(places[at], best[i]);
        EXPECT_EQ(y[at], plane[best[i]]);
        wanted_dx[static_cast<size_t>(p * w.in() + best[i])] += static_cast<double>(dy[at]);
      }
    }
    expect_close(dx, wanted_dx, tolerance<T>(1e-6, 1e-14), "dx");
    std::vector<T> alone(y.size());
    pool<T>().largest(w, kPlanes, x.data(), alone.data(), nullptr);
    EXPECT_EQ(alone, y);
  }
}

TEST_P(PoolKernelsAt, PickTheFirstMaximum) {
  check_largest<float>();
  check_largest<double>();
}

template <class T>
void check_mean() {
  constexpr int64_t kPlanes = 2;
  for (const Windows& w : pools()) {
    if (w.rows.dilation > 1) continue;
    const std::vector<T> x = random_values<T>(kPlanes * w.in(), 1), dy = random_values<T>(kPlanes * w.out(), 2);
    std::vector<T> y(dy.size()), dx(x.size(), T(9));
    pool<T>().mean(w, kPlanes, Border::left_out, x.data(), y.data());
    pool<T>().mean_gradient(w, kPlanes, Border::left_out, dy.data(), dx.data());
    std::vector<double> wanted_y(y.size()), wanted_dx(x.size()), counts(static_cast<size_t>(w.out()));
    for_values(w, [&](int64_t window, int64_t) { counts[static_cast<size_t>(window)] += 1; });
    for (int64_t p = 0; p < kPlanes; ++p)
      for_values(w, [&](int64_t window, int64_t value) {
        const size_t to = static_cast<size_t>(p * w.out() + window), from = static_cast<size_t>(p * w.in() + value);
        wanted_y[to] += static_cast<double>(x[from]) / counts[static_cast<size_t>(window)];
        wanted_dx[from] += static_cast<double>(dy[to]) / counts[static_cast<size_t>(window)];
      });
    expect_close(y, wanted_y, tolerance<T>(1e-6, 1e-14), "y");
    expect_close(dx, wanted_dx, tolerance<T>(1e-6, 1e-14), "dx");
  }
}

TEST_P(PoolKernelsAt, AverageOverValuesInsideTheInput) {
  check_mean<float>();
  check_mean<double>();
}

/// Four ones, window 2, padding 1: the windows cover 1, 2 and 1 of them.
TEST_P(PoolKernelsAt, DivideByTheFullWindowIfPaddingCounts) {
  const Windows w{{}, pooled(4, 2, 2, 1, 1)};
  const std::vector<float> x(4, 1), dy(3, 1);
  std::vector<float> y(3), dx(4);
  pool<float>().mean(w, 1, Border::counted, x.data(), y.data());
  pool<float>().mean_gradient(w, 1, Border::counted, dy.data(), dx.data());
  EXPECT_EQ(y, (std::vector<float>{0.5, 1, 0.5}));
  EXPECT_EQ(dx, std::vector<float>(4, 0.5));
}

TAPE_EVERY_LEVEL(PoolKernelsAt);

}  // namespace
}  // namespace tape::kernels::testing
