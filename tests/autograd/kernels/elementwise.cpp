#include "autograd/kernels/elementwise.h"

#include <functional>
#include <limits>

#include "support.h"

namespace tape::kernels::testing {
namespace {

class Elementwise : public EveryLevel {};
const int64_t kSizes[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 70001};

double exact_unary(Unary op, double x) {
  switch (op) {
    case Unary::neg:
      return -x;
    case Unary::abs:
      return std::abs(x);
    case Unary::sign:
      return x > 0 ? 1 : x < 0 ? -1 : x;
    case Unary::square:
      return x * x;
    case Unary::reciprocal:
      return 1 / x;
    case Unary::exp:
      return std::exp(x);
    case Unary::log:
      return std::log(x);
    case Unary::sqrt:
      return std::sqrt(x);
    case Unary::rsqrt:
      return 1 / std::sqrt(x);
    case Unary::sin:
      return std::sin(x);
    case Unary::cos:
      return std::cos(x);
    case Unary::tanh:
      return std::tanh(x);
    case Unary::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Unary::erf:
      return std::erf(x);
    case Unary::relu:
      return x < 0 ? 0 : x;
    case Unary::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Unary::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Unary::silu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

template <class T>
void check_unary() {
  for (int code = 0; code <= static_cast<int>(Unary::silu); ++code) {
    const Unary op = static_cast<Unary>(code);
    for (const int64_t n : kSizes) {
      const bool positive = op == Unary::log || op == Unary::sqrt || op == Unary::rsqrt || op == Unary::reciprocal;
      const std::vector<T> x = random_values<T>(n, 1, positive ? 0.01 : -6, 6);
      std::vector<T> y(x.size()), in_place = x;
      std::vector<double> wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i) wanted[i] = exact_unary(op, static_cast<double>(x[i]));
      elementwise<T>().unary(op, n, x.data(), y.data());
      expect_close(y, wanted, tolerance<T>(3e-7, 1e-14), "unary " + std::to_string(code));
      elementwise<T>().unary(op, n, in_place.data(), in_place.data());
      EXPECT_EQ(in_place, y);
    }
  }
}
TEST_P(Elementwise, unary_functions) {
  check_unary<float>();
  check_unary<double>();
}

template <class T>
void check_nan_and_infinity() {
  const T nan = std::numeric_limits<T>::quiet_NaN(), infinity = std::numeric_limits<T>::infinity();
  for (int code = 0; code <= static_cast<int>(Unary::silu); ++code) {
    T y = 0;
    elementwise<T>().unary(static_cast<Unary>(code), 1, &nan, &y);
    EXPECT_TRUE(std::isnan(y)) << code;
  }
  const Unary zero_far_below[] = {Unary::sigmoid, Unary::gelu, Unary::gelu_tanh, Unary::silu, Unary::exp, Unary::relu};
  const T minus = -infinity;
  for (const Unary op : zero_far_below) {
    T y = 1;
    elementwise<T>().unary(op, 1, &minus, &y);
    EXPECT_EQ(y, T(0)) << static_cast<int>(op);
  }
  for (const Unary op : {Unary::gelu, Unary::gelu_tanh, Unary::silu, Unary::exp, Unary::relu}) {
    T y = 1;
    elementwise<T>().unary(op, 1, &infinity, &y);
    EXPECT_EQ(y, infinity) << static_cast<int>(op);
  }
}
TEST_P(Elementwise, nan_stays_and_infinities_have_their_limits) {
  check_nan_and_infinity<float>();
  check_nan_and_infinity<double>();
}

template <class T>
void check_unary_backward() {
  for (const Unary op : {Unary::tanh, Unary::sigmoid, Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
    for (const int64_t n : kSizes) {
      const std::vector<T> x = random_values<T>(n, 2, -6, 6), dy = random_values<T>(n, 3);
      std::vector<T> y(x.size()), dx(x.size());
      elementwise<T>().unary(op, n, x.data(), y.data());
      const bool from_y = op == Unary::tanh || op == Unary::sigmoid;
      elementwise<T>().unary_backward(op, n, from_y ? nullptr : x.data(), from_y ? y.data() : nullptr, dy.data(),
                                      dx.data());
      std::vector<double> wanted(x.size());
      for (size_t i = 0; i < x.size(); ++i) {
        const double v = static_cast<double>(x[i]), h = 1e-5;
        wanted[i] = static_cast<double>(dy[i]) * (exact_unary(op, v + h) - exact_unary(op, v - h)) / (2 * h);
      }
      expect_close(dx, wanted, tolerance<T>(1e-6, 1e-8), "backward of " + std::to_string(static_cast<int>(op)));
    }
  }
}
TEST_P(Elementwise, slopes_agree_with_differences) {
  check_unary_backward<float>();
  check_unary_backward<double>();
}

TEST_P(Elementwise, slopes_far_out_are_zero_or_one) {
  for (const Unary op : {Unary::relu, Unary::gelu, Unary::gelu_tanh, Unary::silu}) {
    const float x[4] = {-1e30F, 1e30F, -200, 200}, dy[4] = {1, 1, 1, 1};
    float dx[4];
    elementwise<float>().unary_backward(op, 4, x, nullptr, dy, dx);
    EXPECT_EQ(dx[0], 0) << static_cast<int>(op);
    EXPECT_EQ(dx[1], 1) << static_cast<int>(op);
    EXPECT_EQ(dx[2], 0) << static_cast<int>(op);
    EXPECT_EQ(dx[3], 1) << static_cast<int>(op);
  }
}

/// A plan and how much memory its operands need.
struct Case {
  Broadcast plan;
  int64_t count = 1, needed[3] = {1, 1, 1};
};
Case make_case(std::vector<int64_t> sizes, std::vector<std::vector<int64_t>> strides) {
  Case c;
  c.plan.rank = static_cast<int>(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    c.plan.sizes[d] = sizes[d];
    c.count *= sizes[d];
    for (size_t k = 0; k < strides.size(); ++k) {
      c.plan.strides[k][d] = strides[k][d];
      c.needed[k] += strides[k][d] * std::max<int64_t>(0, sizes[d] - 1);
    }
  }
  return c;
}
std::vector<Case> cases() {
  return {make_case({}, {{}, {}, {}}),
          make_case({0}, {{1}, {1}, {1}}),
          make_case({17}, {{1}, {1}, {1}}),
          make_case({17}, {{1}, {0}, {1}}),
          make_case({17}, {{0}, {1}, {0}}),
          make_case({100003}, {{1}, {1}, {1}}),
          make_case({100003}, {{1}, {0}, {1}}),
          make_case({5, 33}, {{33, 1}, {0, 1}, {1, 0}}),
          make_case({300, 211}, {{211, 1}, {0, 1}, {211, 1}}),
          make_case({300, 211}, {{1, 0}, {211, 1}, {0, 1}}),
          make_case({4, 3, 70}, {{70, 0, 1}, {0, 70, 1}, {0, 0, 1}}),
          make_case({3, 40000}, {{0, 1}, {1, 0}, {40000, 1}}),
          make_case({7, 9}, {{1, 7}, {9, 1}, {0, 0}}),
          make_case({2, 0, 3}, {{0, 3, 1}, {0, 0, 1}, {0, 0, 0}}),
          make_case({2, 3, 2, 3, 2, 3, 2, 5},
                    {{5, 0, 10, 0, 20, 0, 40, 1}, {0, 5, 0, 15, 0, 45, 0, 1}, {0, 0, 0, 0, 0, 0, 1, 0}})};
}
/// Offsets of operand k, one an output element.
std::vector<int64_t> offsets(const Case& c, int k) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < c.count; ++i) {
    int64_t rest = i, offset = 0;
    for (int d = c.plan.rank - 1; d >= 0; --d) {
      offset += rest % c.plan.sizes[d] * c.plan.strides[k][d];
      rest /= c.plan.sizes[d];
    }
    result.push_back(offset);
  }
  return result;
}

template <class T>
T exact_binary(Binary op, T a, T b) {
  switch (op) {
    case Binary::add:
      return a + b;
    case Binary::sub:
      return a - b;
    case Binary::mul:
      return a * b;
    case Binary::div:
      return a / b;
    case Binary::pow:
      return static_cast<T>(std::pow(static_cast<long double>(a), static_cast<long double>(b)));
    case Binary::maximum:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
    case Binary::minimum:
      return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
  }
  return 0;
}

template <class T>
void check_binary() {
  for (const Case& c : cases()) {
    const std::vector<int64_t> at_a = offsets(c, 0), at_b = offsets(c, 1);
    for (int code = 0; code <= static_cast<int>(Binary::minimum); ++code) {
      std::vector<T> a = random_values<T>(c.needed[0], 4, 0.1, 3), b = random_values<T>(c.needed[1], 5, 0.1, 3);
      if (code >= static_cast<int>(Binary::maximum)) {
        a.back() = std::numeric_limits<T>::quiet_NaN();
        b[b.size() / 2] = std::numeric_limits<T>::quiet_NaN();
      }
      std::vector<T> out(static_cast<size_t>(c.count)), wanted;
      for (size_t i = 0; i < out.size(); ++i)
        wanted.push_back(
            exact_binary(static_cast<Binary>(code), a[static_cast<size_t>(at_a[i])], b[static_cast<size_t>(at_b[i])]));
      elementwise<T>().binary(static_cast<Binary>(code), c.plan, a.data(), b.data(), out.data());
      expect_close(out, wanted, code == static_cast<int>(Binary::pow) ? tolerance<T>(2e-7, 1e-15) : 0,
                   "binary " + std::to_string(code) + " of " + std::to_string(c.count));
    }
  }
}
TEST_P(Elementwise, binary_functions_broadcast) {
  check_binary<float>();
  check_binary<double>();
}

TEST_P(Elementwise, output_may_be_an_operand) {
  const Case c = make_case({300, 211}, {{211, 1}, {0, 1}});
  std::vector<float> a = random_values<float>(300 * 211, 6), b = random_values<float>(211, 7), out(a.size());
  elementwise<float>().binary(Binary::sub, c.plan, a.data(), b.data(), out.data());
  elementwise<float>().binary(Binary::sub, c.plan, a.data(), b.data(), a.data());
  EXPECT_EQ(a, out);
}

template <class T>
void check_compare_and_where() {
  for (const Case& c : cases()) {
    const std::vector<int64_t> at_a = offsets(c, 0), at_b = offsets(c, 1), at_c = offsets(c, 2);
    std::vector<T> a(static_cast<size_t>(c.needed[0])), b(static_cast<size_t>(c.needed[1]));
    for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<T>(i % 5);
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i % 3);
    a.back() = std::numeric_limits<T>::quiet_NaN();
    Flags condition(c.needed[2]), out(c.count);
    for (int64_t i = 0; i < c.needed[2]; ++i) condition[i] = i % 3 == 1;
    for (int code = 0; code <= static_cast<int>(Compare::ge); ++code) {
      elementwise<T>().compare(static_cast<Compare>(code), c.plan, a.data(), b.data(), out.data());
      for (int64_t i = 0; i < c.count; ++i) {
        const T x = a[static_cast<size_t>(at_a[static_cast<size_t>(i)])],
                y = b[static_cast<size_t>(at_b[static_cast<size_t>(i)])];
        const bool wanted[] = {x == y, x != y, x<y, x <= y, x> y, x >= y};
        ASSERT_EQ(out[i], wanted[code]) << code << " [" << i << "] of " << c.count;
      }
    }
    std::vector<T> chosen(static_cast<size_t>(c.count)), wanted;
    for (size_t i = 0; i < chosen.size(); ++i)
      wanted.push_back(condition[at_c[i]] ? a[static_cast<size_t>(at_a[i])] : b[static_cast<size_t>(at_b[i])]);
    elementwise<T>().where(c.plan, condition.data(), a.data(), b.data(), chosen.data());
    expect_close(chosen, wanted, 0, "where");
    std::vector<T> bytes(static_cast<size_t>(c.count));
    where_bytes(c.plan, sizeof(T), condition.data(), a.data(), b.data(), bytes.data());
    expect_close(bytes, wanted, 0, "where_bytes");
  }
}
TEST_P(Elementwise, comparisons_and_choices_broadcast) {
  check_compare_and_where<float>();
  check_compare_and_where<double>();
}

template <class T>
void check_scalar_forms() {
  for (const int64_t n : kSizes) {
    const std::vector<T> x = random_values<T>(n, 8, 0.1, 4);
    std::vector<T> y(x.size()), sum = random_values<T>(n, 9);
    std::vector<double> wanted(x.size());
    for (size_t i = 0; i < x.size(); ++i) wanted[i] = static_cast<double>(x[i]) * 2.5 - 1.25;
    elementwise<T>().affine(n, x.data(), T(2.5), T(-1.25), y.data());
    expect_close(y, wanted, tolerance<T>(2e-7, 1e-15), "affine");
    for (size_t i = 0; i < x.size(); ++i) wanted[i] = static_cast<double>(sum[i]) + static_cast<double>(x[i]) * -0.75;
    elementwise<T>().accumulate(n, x.data(), T(-0.75), sum.data());
    expect_close(sum, wanted, tolerance<T>(2e-7, 1e-15), "accumulate");
    for (const double exponent : {0.5, 1.0, 2.0, 3.0, -1.0, -0.5, 1.7, 0.0, -2.0}) {
      for (size_t i = 0; i < x.size(); ++i) wanted[i] = std::pow(static_cast<double>(x[i]), exponent);
      elementwise<T>().pow_scalar(n, x.data(), static_cast<T>(exponent), y.data());
      expect_close(y, wanted, tolerance<T>(4e-7, 1e-14), "pow " + std::to_string(exponent));
    }
  }
}
TEST_P(Elementwise, scalar_forms) {
  check_scalar_forms<float>();
  check_scalar_forms<double>();
}

TEST_P(Elementwise, same_bits_for_every_number_of_threads) {
  const std::vector<float> x = random_values<float>(100001, 10, -5, 5);
  for (const Unary op : {Unary::exp, Unary::gelu, Unary::tanh}) {
    expect_same_bits([&] {
      std::vector<float> y(x.size());
      elementwise<float>().unary(op, 100001, x.data(), y.data());
      return y;
    });
  }
}

TEST_P(Elementwise, a_value_has_the_same_bits_wherever_it_stands) {
  const std::vector<float> x = random_values<float>(100, 11, -5, 5);
  for (int code = 0; code <= static_cast<int>(Unary::silu); ++code) {
    std::vector<float> whole(x.size()), one(1);
    elementwise<float>().unary(static_cast<Unary>(code), 100, x.data(), whole.data());
    for (size_t i = 0; i < x.size(); ++i) {
      elementwise<float>().unary(static_cast<Unary>(code), 1, &x[i], one.data());
      ASSERT_EQ(std::memcmp(&one[0], &whole[i], sizeof(float)), 0) << code << " at " << i;
    }
  }
}

TAPE_EVERY_LEVEL(Elementwise);

}  // namespace
}  // namespace tape::kernels::testing
