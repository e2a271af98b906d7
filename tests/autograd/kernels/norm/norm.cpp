#include "autograd/kernels/norm/norm.h"

#include <cmath>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Norm : public EveryLevel {};

template <class T>
struct Result {
  std::vector<T> y, mean, rstd, dx, dweight, dbias;
};

template <class T>
Result<T> run(int64_t rows, int64_t cols, const std::vector<T>& x, const T* weight, const T* bias,
              const std::vector<T>& dy) {
  const size_t r = static_cast<size_t>(rows), c = static_cast<size_t>(cols);
  Result<T> out{std::vector<T>(r * c), std::vector<T>(r),       std::vector<T>(r),
                std::vector<T>(r * c), std::vector<T>(c, T(9)), std::vector<T>(c, T(9))};
  norm<T>().layer_norm(rows, cols, x.data(), weight, bias, T(1e-5), out.y.data(), out.mean.data(), out.rstd.data());
  norm<T>().layer_norm_backward(rows, cols, x.data(), weight, out.mean.data(), out.rstd.data(), dy.data(), nullptr,
                                out.dx.data(), out.dweight.data(), out.dbias.data());
  return out;
}

Result<long double> reference(int64_t rows, int64_t cols, const std::vector<long double>& x,
                              const std::vector<long double>& w, const std::vector<long double>& b,
                              const std::vector<long double>& dy) {
  const size_t r = static_cast<size_t>(rows), c = static_cast<size_t>(cols);
  const long double count = static_cast<long double>(cols);
  Result<long double> out{{}, {}, {}, {}, std::vector<long double>(c), std::vector<long double>(c)};
  for (size_t i = 0; i < r; ++i) {
    const long double *xi = &x[i * c], *gi = &dy[i * c];
    long double mean = 0, variance = 0, mean_g = 0, mean_gn = 0;
    for (size_t j = 0; j < c; ++j) mean += xi[j] / count;
    for (size_t j = 0; j < c; ++j) variance += (xi[j] - mean) * (xi[j] - mean) / count;
    const long double rstd = 1 / std::sqrt(variance + 1e-5L);
    for (size_t j = 0; j < c; ++j) {
      const long double n = (xi[j] - mean) * rstd;
      out.y.push_back(n * w[j] + b[j]);
      mean_g += gi[j] * w[j] / count;
      mean_gn += gi[j] * w[j] * n / count;
      out.dweight[j] += gi[j] * n;
      out.dbias[j] += gi[j];
    }
    for (size_t j = 0; j < c; ++j) out.dx.push_back(rstd * (gi[j] * w[j] - mean_g - (xi[j] - mean) * rstd * mean_gn));
    out.mean.push_back(mean);
    out.rstd.push_back(rstd);
  }
  return out;
}

template <class T>
std::vector<long double> widened(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

template <class T>
void check_layer_norm() {
  for (const int64_t cols : {1, 3, 8, 16, 17, 100, 512, 2050})
    for (const int64_t rows : {int64_t{0}, int64_t{1}, int64_t{7}, 90000 / cols}) {
      std::vector<T> x = random_values<T>(rows * cols, 1, -1, 3);
      // A short row whose values happen to be nearly equal would divide by almost zero variance.
      for (size_t i = 0; i < x.size(); i += static_cast<size_t>(cols)) x[i] += 5;
      const std::vector<T> dy = random_values<T>(rows * cols, 2);
      const std::vector<T> weight = random_values<T>(cols, 3), bias = random_values<T>(cols, 4);
      const std::vector<long double> ones(weight.size(), 1), zeros(weight.size(), 0);
      const double bound = tolerance<T>(4e-6, 1e-12);
      for (const bool affine : {true, false}) {
        const Result<T> got = run(rows, cols, x, affine ? weight.data() : nullptr, affine ? bias.data() : nullptr, dy);
        const Result<long double> wanted = reference(rows, cols, widened(x), affine ? widened(weight) : ones,
                                                     affine ? widened(bias) : zeros, widened(dy));
        const std::string what = " of " + std::to_string(rows) + " x " + std::to_string(cols);
        expect_close(got.y, wanted.y, bound, "y" + what);
        expect_close(got.mean, wanted.mean, bound, "mean" + what);
        expect_close(got.rstd, wanted.rstd, bound, "rstd" + what);
        expect_close(got.dx, wanted.dx, bound * 3, "dx" + what);
        expect_close(got.dweight, wanted.dweight, bound * 20, "dweight" + what);
        expect_close(got.dbias, wanted.dbias, bound * 20, "dbias" + what);
      }
    }
}
TEST_P(Norm, MatchesTheLayerNormFormula) {
  check_layer_norm<float>();
  check_layer_norm<double>();
}

TEST_P(Norm, UnrequestedGradientsMayBeNull) {
  const std::vector<float> x = random_values<float>(5 * 20, 1), dy = random_values<float>(5 * 20, 2);
  const Result<float> all = run<float>(5, 20, x, nullptr, nullptr, dy);
  std::vector<float> dx(100), dweight(20), dbias(20);
  norm<float>().layer_norm_backward(5, 20, x.data(), nullptr, all.mean.data(), all.rstd.data(), dy.data(), nullptr,
                                    dx.data(), nullptr, nullptr);
  norm<float>().layer_norm_backward(5, 20, x.data(), nullptr, all.mean.data(), all.rstd.data(), dy.data(), nullptr,
                                    nullptr, dweight.data(), nullptr);
  norm<float>().layer_norm_backward(5, 20, x.data(), nullptr, all.mean.data(), all.rstd.data(), dy.data(), nullptr,
                                    nullptr, nullptr, dbias.data());
  EXPECT_EQ(dx, all.dx);
  EXPECT_EQ(dweight, all.dweight);
  EXPECT_EQ(dbias, all.dbias);
}

TEST_P(Norm, AddsToAnotherGradient) {
  const std::vector<float> x = random_values<float>(5 * 20, 1), dy = random_values<float>(5 * 20, 2);
  const std::vector<float> other = random_values<float>(5 * 20, 3);
  const Result<float> alone = run<float>(5, 20, x, nullptr, nullptr, dy);
  std::vector<float> apart(100), in_place = other, rms(100), rms_alone(100);
  norm<float>().layer_norm_backward(5, 20, x.data(), nullptr, alone.mean.data(), alone.rstd.data(), dy.data(),
                                    other.data(), apart.data(), nullptr, nullptr);
  norm<float>().layer_norm_backward(5, 20, x.data(), nullptr, alone.mean.data(), alone.rstd.data(), dy.data(),
                                    in_place.data(), in_place.data(), nullptr, nullptr);
  norm<float>().rms_norm_backward(5, 20, x.data(), nullptr, alone.rstd.data(), dy.data(), nullptr, rms_alone.data(),
                                  nullptr);
  norm<float>().rms_norm_backward(5, 20, x.data(), nullptr, alone.rstd.data(), dy.data(), other.data(), rms.data(),
                                  nullptr);
  EXPECT_EQ(in_place, apart);
  for (size_t i = 0; i < 100; ++i) {
    EXPECT_NEAR(apart[i], alone.dx[i] + other[i], 1e-6);
    EXPECT_NEAR(rms[i], rms_alone[i] + other[i], 1e-6);
  }
}

TEST_P(Norm, IsBitwiseEqualForAnyThreadCount) {
  const std::vector<float> x = random_values<float>(1500 * 130, 5), dy = random_values<float>(1500 * 130, 6);
  const std::vector<float> weight = random_values<float>(130, 7);
  expect_same_bits([&] { return run<float>(1500, 130, x, weight.data(), nullptr, dy).dweight; });
  expect_same_bits([&] { return run<float>(1500, 130, x, weight.data(), nullptr, dy).dx; });
}

TAPE_EVERY_LEVEL(Norm);

}  // namespace
}  // namespace tape::kernels::testing
