#include "autograd/kernels/elementwise/parametric.h"

#include <limits>

#include "autograd/kernels/elementwise/elementwise.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class ParametricTable : public EveryLevel {};

struct Activation {
  const char* name;
  double a, b;
  double (*value)(double x, double a, double b);
};
const Activation kActivations[] = {
    {"leaky_relu", 0.2, 0, [](double x, double a, double) { return x > 0 ? x : a * x; }},
    {"elu", 1.5, 0, [](double x, double a, double) { return x > 0 ? x : a * std::expm1(x); }},
    {"softplus", 2, 5, [](double x, double a, double b) { return a * x > b ? x : std::log1p(std::exp(a * x)) / a; }}};

template <class T>
void check_activations() {
  const ParametricKernels<T>& table = parametric<T>();
  const ParametricLoops<T> loops[] = {table.leaky_relu, table.elu, table.softplus};
  for (size_t row = 0; row < 3; ++row) {
    const Activation& f = kActivations[row];
    for (const int64_t n : {0, 1, 7, 16, 33, 70001}) {
      const std::vector<T> x = random_values<T>(n, 1, -6, 6), dy = random_values<T>(n, 2);
      std::vector<T> y(x.size()), dx(x.size());
      std::vector<double> values, slopes;
      for (size_t i = 0; i < x.size(); ++i) {
        const double v = static_cast<double>(x[i]), h = 1e-6;
        values.push_back(f.value(v, f.a, f.b));
        // The step points away from zero, so that it crosses no kink.
        const double other = v + (v > 0 ? h : -h), slope = (f.value(other, f.a, f.b) - values.back()) / (other - v);
        slopes.push_back(static_cast<double>(dy[i]) * slope);
      }
      loops[row].forward(n, static_cast<T>(f.a), static_cast<T>(f.b), x.data(), y.data());
      loops[row].backward(n, static_cast<T>(f.a), static_cast<T>(f.b), x.data(), dy.data(), dx.data());
      expect_close(y, values, tolerance<T>(3e-7, 1e-14), f.name);
      // At the threshold of softplus, differences pick up its jump of 1e-3.
      if (row < 2) expect_close(dx, slopes, tolerance<T>(1e-5, 1e-5), std::string("derivative of ") + f.name);
    }
  }
}
TEST_P(ParametricTable, ValuesAndDerivativesAgreeWithTheCLibrary) {
  check_activations<float>();
  check_activations<double>();
}

template <class T>
void check_pairs() {
  const ElementwiseKernels<T>& table = elementwise<T>();
  for (const int64_t n : {1, 7, 33, 70001}) {
    Broadcast plan;
    plan.rank = 1;
    plan.sizes[0] = n;
    for (int k = 0; k < 3; ++k) plan.strides[k][0] = 1;
    const std::vector<T> a = random_values<T>(n, 1, -9, 9), b = random_values<T>(n, 2, -3, 3),
                         w = random_values<T>(n, 3);
    std::vector<T> angle(a.size()), rest(a.size()), mixed(a.size());
    table.binary(Binary::atan2, plan, a.data(), b.data(), angle.data());
    table.binary(Binary::remainder, plan, a.data(), b.data(), rest.data());
    table.lerp(plan, a.data(), b.data(), w.data(), mixed.data());
    std::vector<double> angles, rests, mixtures;
    for (size_t i = 0; i < a.size(); ++i) {
      const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]), fmod = std::fmod(x, y);
      angles.push_back(std::atan2(x, y));
      rests.push_back(fmod != 0 && (fmod < 0) != (y < 0) ? fmod + y : fmod);
      mixtures.push_back(x + static_cast<double>(w[i]) * (y - x));
    }
    expect_close(angle, angles, tolerance<T>(3e-7, 1e-14), "atan2");
    expect_close(rest, rests, tolerance<T>(3e-7, 1e-14), "remainder");
    expect_close(mixed, mixtures, tolerance<T>(3e-6, 1e-14), "lerp");
  }
}
TEST_P(ParametricTable, PairsAgreeWithTheCLibrary) {
  check_pairs<float>();
  check_pairs<double>();
}

/// All quadrants, axes, zeros of both signs and infinities.
TEST_P(ParametricTable, AnglesAreCorrectInAllQuadrants) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  std::vector<float> ys, xs;
  for (const float y : {-infinity, -2.0F, -0.0F, 0.0F, 1e-30F, 3.0F, infinity, nan})
    for (const float x : {-infinity, -1.0F, -0.0F, 0.0F, 2e-38F, 5.0F, infinity, nan}) ys.push_back(y), xs.push_back(x);
  std::vector<float> angle(ys.size());
  std::vector<double> wanted;
  for (size_t i = 0; i < ys.size(); ++i)
    wanted.push_back(std::atan2(static_cast<double>(ys[i]), static_cast<double>(xs[i])));
  Broadcast plan;
  plan.rank = 1;
  plan.sizes[0] = static_cast<int64_t>(ys.size());
  plan.strides[0][0] = plan.strides[1][0] = 1;
  elementwise<float>().binary(Binary::atan2, plan, ys.data(), xs.data(), angle.data());
  expect_close(angle, wanted, 3e-7, "atan2");
}

TAPE_EVERY_LEVEL(ParametricTable);

}  // namespace
}  // namespace tape::kernels::testing
