#include "autograd/kernels/elementwise/elementwise.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "autograd/kernels/elementwise/common/integer_ops.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {
namespace {

class Elementwise : public EveryLevel {};
const int64_t kSizes[] = {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 70001};

/// A broadcast plan and the memory its operands need.
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
/// Offsets of operand k, one per output element.
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
    case Binary::remainder:
      return std::fmod(a, b);  // both are positive
    case Binary::atan2:
      return static_cast<T>(std::atan2(static_cast<long double>(a), static_cast<long double>(b)));
  }
  return 0;
}

template <class T>
void check_binary() {
  for (const Case& c : cases()) {
    const std::vector<int64_t> at_a = offsets(c, 0), at_b = offsets(c, 1);
    for (int code = 0; code <= static_cast<int>(Binary::atan2); ++code) {
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
      const bool rounds = code == static_cast<int>(Binary::pow) || code == static_cast<int>(Binary::atan2);
      expect_close(out, wanted, rounds ? tolerance<T>(2e-7, 1e-15) : 0,
                   "binary " + std::to_string(code) + " of " + std::to_string(c.count));
    }
  }
}
TEST_P(Elementwise, BinaryFunctionsBroadcast) {
  check_binary<float>();
  check_binary<double>();
}

TEST_P(Elementwise, OutputMayAliasAnOperand) {
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
    integer_ops().where(c.plan, sizeof(T), condition.data(), a.data(), b.data(), bytes.data());
    expect_close(bytes, wanted, 0, "where of integers");
  }
}
TEST_P(Elementwise, ComparisonsAndSelectionsBroadcast) {
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
TEST_P(Elementwise, ScalarFormsMatchTheirFormulas) {
  check_scalar_forms<float>();
  check_scalar_forms<double>();
}

TEST_P(Elementwise, IsBitwiseEqualForAnyThreadCount) {
  const Case c = make_case({300, 400}, {{400, 1}, {0, 1}, {400, 1}});
  const std::vector<float> a = random_values<float>(300 * 400, 10), b = random_values<float>(400, 11);
  for (const Binary op : {Binary::add, Binary::div, Binary::pow}) {
    expect_same_bits([&] {
      std::vector<float> out(a.size());
      elementwise<float>().binary(op, c.plan, a.data(), b.data(), out.data());
      return out;
    });
  }
}

TAPE_EVERY_LEVEL(Elementwise);

}  // namespace
}  // namespace tape::kernels::testing
