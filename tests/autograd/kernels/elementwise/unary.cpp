#include "autograd/kernels/elementwise/unary.h"

#include <limits>

#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class UnaryTable : public EveryLevel {};
const int64_t kSizes[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 70001};

/// A row of the table and its expected values.
struct Function {
  std::string name;
  UnaryKernel UnaryKernels::*row;
  double (*exact)(double);
  double low = -6, high = 6;  // where it is defined and not too steep

  const UnaryKernel& kernel() const { return unary().*row; }
};

const Function kFunctions[] = {
    {"neg", &UnaryKernels::neg, [](double x) { return -x; }},
    {"abs", &UnaryKernels::abs, [](double x) { return std::abs(x); }},
    {"sign", &UnaryKernels::sign, [](double x) { return x > 0   ? 1.0
                                                        : x < 0 ? -1.0
                                                                : x; }},
    {"square", &UnaryKernels::square, [](double x) { return x * x; }},
    {"reciprocal", &UnaryKernels::reciprocal, [](double x) { return 1 / x; }, 0.01},
    {"exp", &UnaryKernels::exp, [](double x) { return std::exp(x); }},
    {"log", &UnaryKernels::log, [](double x) { return std::log(x); }, 0.01},
    {"sqrt", &UnaryKernels::sqrt, [](double x) { return std::sqrt(x); }, 0.01},
    {"rsqrt", &UnaryKernels::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.01},
    {"sin", &UnaryKernels::sin, [](double x) { return std::sin(x); }},
    {"cos", &UnaryKernels::cos, [](double x) { return std::cos(x); }},
    {"tanh", &UnaryKernels::tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", &UnaryKernels::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"erf", &UnaryKernels::erf, [](double x) { return std::erf(x); }},
    {"relu", &UnaryKernels::relu, [](double x) { return x < 0 ? 0 : x; }},
    {"gelu", &UnaryKernels::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
    {"gelu_tanh", &UnaryKernels::gelu_tanh,
     [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }},
    {"silu", &UnaryKernels::silu, [](double x) { return x / (1 + std::exp(-x)); }},
    {"log1p", &UnaryKernels::log1p, [](double x) { return std::log1p(x); }, -0.5},
    {"log2", &UnaryKernels::log2, [](double x) { return std::log2(x); }, 0.5},
    {"log10", &UnaryKernels::log10, [](double x) { return std::log10(x); }, 0.5},
    {"expm1", &UnaryKernels::expm1, [](double x) { return std::expm1(x); }, -6, 2},
    {"exp2", &UnaryKernels::exp2, [](double x) { return std::exp2(x); }, -6, 2},
    {"sinh", &UnaryKernels::sinh, [](double x) { return std::sinh(x); }, -2, 2},
    {"cosh", &UnaryKernels::cosh, [](double x) { return std::cosh(x); }, -2, 2},
    {"atanh", &UnaryKernels::atanh, [](double x) { return std::atanh(x); }, -0.7, 0.7},
    {"mish", &UnaryKernels::mish, [](double x) { return x * std::tanh(std::log1p(std::exp(x))); }},
    {"tan", &UnaryKernels::tan, [](double x) { return std::tan(x); }, -1, 1},
    {"asin", &UnaryKernels::asin, [](double x) { return std::asin(x); }, -0.8, 0.8},
    {"acos", &UnaryKernels::acos, [](double x) { return std::acos(x); }, -0.8, 0.8},
    {"atan", &UnaryKernels::atan, [](double x) { return std::atan(x); }},
    {"round", &UnaryKernels::round, [](double x) { return std::nearbyint(x); }},
    {"floor", &UnaryKernels::floor, [](double x) { return std::floor(x); }},
    {"ceil", &UnaryKernels::ceil, [](double x) { return std::ceil(x); }},
    {"trunc", &UnaryKernels::trunc, [](double x) { return std::trunc(x); }},
    {"frac", &UnaryKernels::frac, [](double x) { return x - std::trunc(x); }},
};

const Function& function(const std::string& name) {
  for (const Function& f : kFunctions)
    if (f.name == name) return f;
  throw std::invalid_argument(name);
}

TEST(UnaryTableRows, EveryRowIsTestedHere) {
  EXPECT_EQ(sizeof(kFunctions) / sizeof(Function), sizeof(UnaryKernels) / sizeof(UnaryKernel));
}

TEST_P(UnaryTable, EveryRowHasBothDtypesAndBothOrNoDerivatives) {
  for (const Function& f : kFunctions) {
    const UnaryKernel& kernel = f.kernel();
    EXPECT_TRUE(kernel.f32.forward && kernel.f64.forward) << f.name;
    EXPECT_EQ(kernel.f32.backward == nullptr, kernel.f64.backward == nullptr) << f.name;
    EXPECT_FALSE(kernel.f32.backward && kernel.derivative_reads == Reads::nothing) << f.name;
  }
}

template <class T>
void check_values() {
  for (const Function& f : kFunctions) {
    for (const int64_t n : kSizes) {
      const std::vector<T> x = random_values<T>(n, 1, f.low, f.high);
      std::vector<T> y(x.size()), in_place = x;
      std::vector<double> wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i) wanted[i] = f.exact(static_cast<double>(x[i]));
      f.kernel().loops<T>().forward(n, x.data(), y.data());
      expect_close(y, wanted, tolerance<T>(3e-7, 1e-14), f.name);
      f.kernel().loops<T>().forward(n, in_place.data(), in_place.data());
      EXPECT_EQ(in_place, y) << f.name;
    }
  }
}
TEST_P(UnaryTable, ValuesAgreeWithTheCLibrary) {
  check_values<float>();
  check_values<double>();
}

template <class T>
void check_nan_and_infinity() {
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity(), minus = -infinity;
  for (const Function& f : kFunctions) {
    T y = 0;
    f.kernel().loops<T>().forward(1, &nan, &y);
    EXPECT_TRUE(std::isnan(y)) << f.name;
  }
  for (const char* name : {"sigmoid", "gelu", "gelu_tanh", "silu", "exp", "relu"}) {
    T y = 1;
    function(name).kernel().loops<T>().forward(1, &minus, &y);
    EXPECT_EQ(y, T(0)) << name;
  }
  for (const char* name : {"gelu", "gelu_tanh", "silu", "exp", "relu"}) {
    T y = 1;
    function(name).kernel().loops<T>().forward(1, &infinity, &y);
    EXPECT_EQ(y, infinity) << name;
  }
}
TEST_P(UnaryTable, PropagatesNaNAndTakesLimitsAtInfinity) {
  check_nan_and_infinity<float>();
  check_nan_and_infinity<double>();
}

/// sin and cos of f32 use another method above 1e5.
TEST_P(UnaryTable, SineAndCosineOfLargeValuesAreAccurate) {
  std::vector<float> x = {99999, 100001, -3e7F, 1e30F, 0.5F}, y(5);
  for (const char* name : {"sin", "cos"}) {
    std::vector<double> wanted;
    for (const float v : x) wanted.push_back(function(name).exact(static_cast<double>(v)));
    function(name).kernel().f32.forward(5, x.data(), y.data());
    expect_close(y, wanted, 3e-7, name);
  }
}

template <class T>
void check_derivatives() {
  int checked = 0;
  for (const Function& f : kFunctions) {
    const auto backward = f.kernel().loops<T>().backward;
    if (!backward) continue;
    ++checked;
    for (const int64_t n : kSizes) {
      const std::vector<T> x = random_values<T>(n, 2, f.low, f.high), dy = random_values<T>(n, 3);
      std::vector<T> y(x.size()), dx(x.size());
      f.kernel().loops<T>().forward(n, x.data(), y.data());
      std::vector<T> value = f.kernel().derivative_reads == Reads::x ? x : y;
      backward(n, value.data(), dy.data(), dx.data());
      std::vector<double> wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        const double v = static_cast<double>(x[i]), h = 1e-5;
        wanted[i] = static_cast<double>(dy[i]) * (f.exact(v + h) - f.exact(v - h)) / (2 * h);
      }
      expect_close(dx, wanted, tolerance<T>(1e-6, 1e-8), "derivative of " + f.name);
      backward(n, value.data(), dy.data(), value.data());
      EXPECT_EQ(value, dx) << f.name << " in place";
    }
  }
  EXPECT_EQ(checked, 19);
}
TEST_P(UnaryTable, DerivativesAgreeWithFiniteDifferences) {
  check_derivatives<float>();
  check_derivatives<double>();
}

TEST_P(UnaryTable, DerivativesFarFromZeroAreZeroOrOne) {
  for (const char* name : {"relu", "gelu", "gelu_tanh", "silu"}) {
    const float x[4] = {-1e30F, 1e30F, -200, 200}, dy[4] = {1, 1, 1, 1};
    float dx[4];
    function(name).kernel().f32.backward(4, x, dy, dx);
    EXPECT_EQ(dx[0], 0) << name;
    EXPECT_EQ(dx[1], 1) << name;
    EXPECT_EQ(dx[2], 0) << name;
    EXPECT_EQ(dx[3], 1) << name;
  }
}

TEST_P(UnaryTable, IsBitwiseEqualForAnyThreadCount) {
  const std::vector<float> x = random_values<float>(100001, 10, -5, 5);
  for (const char* name : {"exp", "gelu", "tanh"}) {
    expect_same_bits([&] {
      std::vector<float> y(x.size());
      function(name).kernel().f32.forward(100001, x.data(), y.data());
      return y;
    });
  }
}

TEST_P(UnaryTable, ResultsDoNotDependOnThePosition) {
  const std::vector<float> x = random_values<float>(100, 11, -5, 5);
  for (const Function& f : kFunctions) {
    std::vector<float> whole(x.size()), one(1);
    f.kernel().f32.forward(100, x.data(), whole.data());
    for (size_t i = 0; i < x.size(); ++i) {
      f.kernel().f32.forward(1, &x[i], one.data());
      ASSERT_EQ(std::memcmp(&one[0], &whole[i], sizeof(float)), 0) << f.name << " at " << i;
    }
  }
}

TAPE_EVERY_LEVEL(UnaryTable);

}  // namespace
}  // namespace tape::kernels::testing
