#include "autograd/kernels/norm/channel_norm.h"

#include <cmath>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class ChannelNorm : public EveryLevel {};

std::vector<ChannelPlanes> all_planes() {
  std::vector<ChannelPlanes> all;
  for (const int64_t together : {0, 1, 2})
    for (const int64_t size : {1, 2, 17, 300})
      for (const int64_t outer : {0, 1, 7, 700})
        for (const int64_t channels : {2, 20})
          if (outer * size < 30000) all.push_back({outer, channels, size, together});
  return all;
}

/// The group whose statistics normalize value i, and the number of groups.
int64_t group_of(const ChannelPlanes& s, int64_t i) {
  const int64_t plane = i / s.size;
  return s.together ? plane / s.together : plane % s.channels;
}
int64_t groups_of(const ChannelPlanes& s) { return s.together ? s.outer * s.channels / s.together : s.channels; }
int64_t values_of_group(const ChannelPlanes& s) { return s.size * (s.together ? s.together : s.outer); }

template <class T>
struct Normalized {
  explicit Normalized(const ChannelPlanes& s)
      : y(static_cast<size_t>(s.outer * s.channels * s.size), T(9)),
        dx(y),
        mean(static_cast<size_t>(groups_of(s)), T(9)),
        rstd(mean),
        dweight(static_cast<size_t>(s.channels), T(9)),
        dbias(dweight) {}
  std::vector<T> y, dx, mean, rstd, dweight, dbias;
};

/// The formulas, value by value, with the given mean and variance or those of x.
Normalized<double> wanted_from(const ChannelPlanes& s, MeanOf of, const std::vector<double>& x,
                               const std::vector<double>& weight, const std::vector<double>& bias,
                               const std::vector<double>& dy, std::vector<double>& mean, std::vector<double>& var) {
  Normalized<double> wanted(s);
  const int64_t n = std::ssize(x);
  const double count = static_cast<double>(values_of_group(s));
  const auto at = [&](int64_t i) { return static_cast<size_t>(group_of(s, i)); };
  const auto channel = [&](int64_t i) { return static_cast<size_t>(i / s.size % s.channels); };
  if (of == MeanOf::x) {
    std::fill(mean.begin(), mean.end(), 0), std::fill(var.begin(), var.end(), 0);
    for (int64_t i = 0; i < n; ++i) mean[at(i)] += x[static_cast<size_t>(i)] / count;
    for (int64_t i = 0; i < n; ++i) var[at(i)] += std::pow(x[static_cast<size_t>(i)] - mean[at(i)], 2) / count;
  }
  for (size_t g = 0; g < mean.size(); ++g) {
    wanted.mean[g] = count > 0 ? mean[g] : 0;
    wanted.rstd[g] = count > 0 ? 1 / std::sqrt(var[g] + 0.1) : 0;
  }
  std::vector<double> g_mean(mean.size()), gn_mean(mean.size());
  std::fill(wanted.dweight.begin(), wanted.dweight.end(), 0), std::fill(wanted.dbias.begin(), wanted.dbias.end(), 0);
  const auto normal = [&](int64_t i) { return (x[static_cast<size_t>(i)] - wanted.mean[at(i)]) * wanted.rstd[at(i)]; };
  for (int64_t i = 0; i < n; ++i) {
    const double g = dy[static_cast<size_t>(i)];
    wanted.y[static_cast<size_t>(i)] = normal(i) * weight[channel(i)] + bias[channel(i)];
    wanted.dweight[channel(i)] += g * normal(i);
    wanted.dbias[channel(i)] += g;
    g_mean[at(i)] += g * weight[channel(i)] / count;
    gn_mean[at(i)] += g * weight[channel(i)] * normal(i) / count;
  }
  for (int64_t i = 0; i < n; ++i) {
    const double g = dy[static_cast<size_t>(i)] * weight[channel(i)];
    wanted.dx[static_cast<size_t>(i)] =
        wanted.rstd[at(i)] * (of == MeanOf::x ? g - g_mean[at(i)] - normal(i) * gn_mean[at(i)] : g);
  }
  return wanted;
}

template <class T>
std::vector<double> widened(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

template <class T>
void check_planes(MeanOf of) {
  for (const ChannelPlanes& s : all_planes()) {
    if (of == MeanOf::given && s.together) continue;
    const int64_t n = s.outer * s.channels * s.size;
    const std::vector<T> x = random_values<T>(n, 1), dy = random_values<T>(n, 2),
                         weight = random_values<T>(s.channels, 3), bias = random_values<T>(s.channels, 4),
                         given_mean = random_values<T>(groups_of(s), 5),
                         given_var = random_values<T>(groups_of(s), 6, 0.5, 2);
    std::vector<double> mean = widened(given_mean), var = widened(given_var);
    const Normalized<double> wanted =
        wanted_from(s, of, widened(x), widened(weight), widened(bias), widened(dy), mean, var);
    Normalized<T> got(s);
    const ChannelNormKernels<T>& table = channel_norm<T>();
    if (of == MeanOf::x)
      table.normalize(s, x.data(), weight.data(), bias.data(), 0.1, {}, got.y.data(), got.mean.data(), got.rstd.data());
    else
      table.normalize_by(s, x.data(), given_mean.data(), given_var.data(), weight.data(), bias.data(), 0.1,
                         got.y.data(), got.mean.data(), got.rstd.data());
    table.backward(s, of, x.data(), weight.data(), got.mean.data(), got.rstd.data(), dy.data(), got.dx.data(),
                   got.dweight.data(), got.dbias.data());
    const std::string what = " of [" + std::to_string(s.outer) + ", " + std::to_string(s.channels) + ", " +
                             std::to_string(s.size) + "], " + std::to_string(s.together) + " together";
    expect_close(got.y, wanted.y, tolerance<T>(1e-5, 1e-13), "y" + what);
    expect_close(got.mean, wanted.mean, tolerance<T>(1e-6, 1e-14), "mean" + what);
    expect_close(got.rstd, wanted.rstd, tolerance<T>(1e-5, 1e-13), "rstd" + what);
    expect_close(got.dx, wanted.dx, tolerance<T>(2e-5, 1e-13), "dx" + what);
    expect_close(got.dweight, wanted.dweight, tolerance<T>(3e-4, 1e-12), "dweight" + what);
    expect_close(got.dbias, wanted.dbias, tolerance<T>(3e-4, 1e-12), "dbias" + what);
  }
}

TEST_P(ChannelNorm, MatchesItsFormulaWithBatchStatistics) {
  check_planes<float>(MeanOf::x);
  check_planes<double>(MeanOf::x);
}

TEST_P(ChannelNorm, MatchesItsFormulaWithGivenStatistics) {
  check_planes<float>(MeanOf::given);
  check_planes<double>(MeanOf::given);
}

TEST_P(ChannelNorm, UpdatesTheRunningStatisticsThatArePresent) {
  const ChannelPlanes s{2, 1, 2};
  const std::vector<double> x{1, 3, 5, 7};
  Normalized<double> got(s);
  std::vector<double> mean{8}, var{3};
  const auto run = [&](double* to_mean, double* to_var) {
    channel_norm<double>().normalize(s, x.data(), nullptr, nullptr, 0, {to_mean, to_var, 0.25}, got.y.data(),
                                     got.mean.data(), got.rstd.data());
  };
  run(nullptr, nullptr);
  run(mean.data(), nullptr);
  EXPECT_DOUBLE_EQ(mean[0], 0.75 * 8 + 0.25 * 4);
  run(nullptr, var.data());
  EXPECT_DOUBLE_EQ(var[0], 0.75 * 3 + 0.25 * 20 / 3);
}

TEST_P(ChannelNorm, ComputesTheRequestedGradients) {
  const ChannelPlanes s{3, 4, 5, 2};
  const std::vector<float> x = random_values<float>(60, 1), dy = random_values<float>(60, 2);
  Normalized<float> all(s), each(s);
  const ChannelNormKernels<float>& table = channel_norm<float>();
  table.normalize(s, x.data(), nullptr, nullptr, 1e-5, {}, all.y.data(), all.mean.data(), all.rstd.data());
  const auto run = [&](float* dx, float* dweight, float* dbias) {
    table.backward(s, MeanOf::x, x.data(), nullptr, all.mean.data(), all.rstd.data(), dy.data(), dx, dweight, dbias);
  };
  run(all.dx.data(), all.dweight.data(), all.dbias.data());
  run(each.dx.data(), nullptr, nullptr);
  run(nullptr, each.dweight.data(), nullptr);
  run(nullptr, nullptr, each.dbias.data());
  EXPECT_EQ(each.dx, all.dx);
  EXPECT_EQ(each.dweight, all.dweight);
  EXPECT_EQ(each.dbias, all.dbias);
}

TEST_P(ChannelNorm, IsBitwiseEqualForAnyThreadCount) {
  for (const ChannelPlanes& s :
       {ChannelPlanes{3000, 20, 1}, ChannelPlanes{300, 20, 17}, ChannelPlanes{300, 20, 17, 5}}) {
    const int64_t n = s.outer * s.channels * s.size;
    const std::vector<float> x = random_values<float>(n, 1), dy = random_values<float>(n, 2);
    expect_same_bits([&] {
      Normalized<float> got(s);
      const ChannelNormKernels<float>& table = channel_norm<float>();
      table.normalize(s, x.data(), nullptr, nullptr, 1e-5, {}, got.y.data(), got.mean.data(), got.rstd.data());
      table.backward(s, MeanOf::x, x.data(), nullptr, got.mean.data(), got.rstd.data(), dy.data(), got.dx.data(),
                     got.dweight.data(), got.dbias.data());
      for (const auto* part : {&got.dx, &got.mean, &got.rstd, &got.dweight, &got.dbias})
        got.y.insert(got.y.end(), part->begin(), part->end());
      return got.y;
    });
  }
}

TAPE_EVERY_LEVEL(ChannelNorm);

}  // namespace
}  // namespace tape::kernels::testing
