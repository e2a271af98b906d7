// Errors of the f32 polynomials of vec_math.h against long double, in units in the last place.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/kernels/elementwise/unary.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

using Function = std::function<long double(long double)>;

double ulps(float got, long double wanted) {
  const float rounded = static_cast<float>(wanted);
  if (std::isnan(wanted)) return std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded)) return got == rounded ? 0 : 1e9;
  if (!std::isfinite(got)) return 1e9;
  int exponent;
  std::frexp(rounded, &exponent);
  return static_cast<double>(std::abs(got - wanted) / std::ldexp(1.0L, std::max(exponent - 24, -149)));
}

/// Every 4001st bit pattern (all exponents, both signs, denormals, infinities, NaN) and dense ranges.
const std::vector<float>& samples() {
  static const std::vector<float> all = [] {
    std::vector<float> x;
    for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4001) {
      const uint32_t word = static_cast<uint32_t>(bits);
      float value;
      std::memcpy(&value, &word, sizeof(value));
      x.push_back(value);
    }
    for (double v = -110; v < 110; v += 0.0011) x.push_back(static_cast<float>(v));
    for (double v = -1.5; v < 1.5; v += 0.00003) x.push_back(static_cast<float>(v));
    const float infinity = std::numeric_limits<float>::infinity();
    for (const float v : {0.0F, -0.0F, infinity, -infinity, std::nanf(""), 1e-45F, -1e-45F, 1.1754944e-38F,
                          3.4028235e38F, 88.72283F, 88.72284F, -87.33655F, -103.97207F, -103.97209F})
      x.push_back(v);
    return x;
  }();
  return all;
}

class VecMath : public EveryLevel {
 protected:
  static void check(UnaryKernel UnaryKernels::*row, const char* name, double bound, const Function& exact) {
    const std::vector<float>& x = samples();
    std::vector<float> y(x.size());
    (unary().*row).f32.forward(static_cast<int64_t>(x.size()), x.data(), y.data());
    double worst = 0;
    size_t at = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], exact(x[i]));
      if (error > worst) {
        worst = error;
        at = i;
      }
    }
    EXPECT_LE(worst, bound) << name << "(" << x[at] << ") = " << y[at] << ", exact " << exact(x[at]);
  }
};

long double zero_at_minus_infinity(long double x, const Function& f) { return x < -1e5L ? -0.0L : f(x); }

TEST_P(VecMath, ExponentialsAndLogarithmAreAccurate) {
  check(&UnaryKernels::exp, "exp", 1.1, [](long double x) { return std::exp(x); });
  check(&UnaryKernels::log, "log", 1.1, [](long double x) { return std::log(x); });
}

TEST_P(VecMath, SineAndCosineAreAccurate) {
  check(&UnaryKernels::sin, "sin", 1, [](long double x) { return std::sin(x); });
  check(&UnaryKernels::cos, "cos", 1, [](long double x) { return std::cos(x); });
}

TEST_P(VecMath, SigmoidsAreAccurate) {
  check(&UnaryKernels::tanh, "tanh", 1.5, [](long double x) { return std::tanh(x); });
  check(&UnaryKernels::sigmoid, "sigmoid", 1, [](long double x) { return 1 / (1 + std::exp(-x)); });
  check(&UnaryKernels::erf, "erf", 1.5, [](long double x) { return std::erf(x); });
}

TEST_P(VecMath, ActivationsAreCloseToTheirFormulas) {
  const long double pi = std::acos(-1.0L);
  check(&UnaryKernels::gelu, "gelu", 8, [](long double x) {
    return zero_at_minus_infinity(x, [](long double v) { return 0.5L * v * std::erfc(-v / std::sqrt(2.0L)); });
  });
  check(&UnaryKernels::gelu_tanh, "gelu_tanh", 1, [pi](long double x) {
    return zero_at_minus_infinity(
        x, [pi](long double v) { return v / (1 + std::exp(-2 * std::sqrt(2 / pi) * (v + 0.044715L * v * v * v))); });
  });
  check(&UnaryKernels::silu, "silu", 1,
        [](long double x) { return zero_at_minus_infinity(x, [](long double v) { return v / (1 + std::exp(-v)); }); });
}

TEST_P(VecMath, RootsAndReciprocalsAreAccurate) {
  check(&UnaryKernels::sqrt, "sqrt", 0.5, [](long double x) { return std::sqrt(x); });
  check(&UnaryKernels::rsqrt, "rsqrt", 1.5, [](long double x) { return 1 / std::sqrt(x); });
  check(&UnaryKernels::reciprocal, "reciprocal", 0.5, [](long double x) { return 1 / x; });
}

TEST_P(VecMath, ExponentialAndLogarithmVariantsAreAccurate) {
  check(&UnaryKernels::expm1, "expm1", 1, [](long double x) { return std::expm1(x); });
  check(&UnaryKernels::exp2, "exp2", 1, [](long double x) { return std::exp2(x); });
  check(&UnaryKernels::log1p, "log1p", 1, [](long double x) { return std::log1p(x); });
  check(&UnaryKernels::log2, "log2", 1, [](long double x) { return std::log2(x); });
  check(&UnaryKernels::log10, "log10", 1, [](long double x) { return std::log10(x); });
}

TEST_P(VecMath, HyperbolicFunctionsAreAccurate) {
  check(&UnaryKernels::sinh, "sinh", 1, [](long double x) { return std::sinh(x); });
  check(&UnaryKernels::cosh, "cosh", 1, [](long double x) { return std::cosh(x); });
  check(&UnaryKernels::atanh, "atanh", 1, [](long double x) { return std::atanh(x); });
  check(&UnaryKernels::mish, "mish", 1, [](long double x) {
    return zero_at_minus_infinity(x, [](long double v) {
      const long double e = std::exp(v > 60 ? 60 : v), w = e * (e + 2);
      return v * w / (w + 2);
    });
  });
}

TEST_P(VecMath, TangentAndInversesAreAccurate) {
  check(&UnaryKernels::tan, "tan", 1.5, [](long double x) { return std::tan(x); });
  check(&UnaryKernels::asin, "asin", 3, [](long double x) { return std::asin(x); });
  check(&UnaryKernels::acos, "acos", 3, [](long double x) { return std::acos(x); });
  check(&UnaryKernels::atan, "atan", 3, [](long double x) { return std::atan(x); });
}

TAPE_EVERY_LEVEL(VecMath);

}  // namespace
}  // namespace tape::kernels::testing
