#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "autograd/kernels/product/int8_rows.h"
#include "tests/autograd/kernels/levels.h"

namespace tape::kernels::testing {

/// A random weight [n, k], a bias, and memory for its quantized rows.
struct Int8Weight {
  Int8Weight(int64_t n, int64_t k, unsigned seed)
      : weight(random_values<float>(n * k, seed)),
        bias(random_values<float>(n, seed + 1)),
        values(static_cast<size_t>(n * Int8Rows{.n = n, .k = k}.stride()), 77),
        scale(static_cast<size_t>(n)),
        norms(scale),
        rests(scale) {
    rows = {
        .n = n, .k = k, .values = values.data(), .scale = scale.data(), .norms = norms.data(), .rests = rests.data()};
  }
  void round() { int8_rows().round(rows, weight.data()); }
  /// x . w[i] in double, and in float summed in order.
  double exact(const float* x, int64_t i) const {
    double sum = 0;
    for (int64_t j = 0; j < rows.k; ++j) sum += static_cast<double>(x[j]) * weight[at(i * rows.k + j)];
    return sum;
  }
  float in_order(const float* x, int64_t i) const {
    float sum = 0;
    for (int64_t j = 0; j < rows.k; ++j) sum += x[j] * weight[at(i * rows.k + j)];
    return sum;
  }
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  std::vector<float> weight, bias;
  std::vector<int8_t> values;
  std::vector<float> scale, norms, rests;
  Int8Rows rows;
};

/// A row w next to a row of zeros, and an x for which the rounding errors add up to more than kMargin, so that bounds
/// that ignored them would pick the wrong row as the largest.
struct WorstCase {
  static constexpr double kMargin = 0.3;
  const char* what;
  std::vector<float> w, x;

  Int8Weight weight() const {
    Int8Weight made(2, std::ssize(w), 1);
    std::fill(made.weight.begin(), made.weight.end(), 0.0F);
    std::copy(w.begin(), w.end(), made.weight.begin());
    made.round();
    return made;
  }
};

/// One case for each term of the bounds.
inline std::vector<WorstCase> worst_cases() {
  constexpr size_t kLength = 512;
  const std::vector<float> ones(kLength, 1.0F);
  std::vector<WorstCase> cases;
  for (const float left : {0.49F, -0.49F}) {
    std::vector<float> uneven(kLength), outlier(kLength, 0.5F), once(kLength, 0.0F);
    for (size_t j = 0; j < kLength; ++j) uneven[j] = (static_cast<float>(j % 100) + left) / 127;
    uneven[0] = 1;
    outlier[0] = 150;
    once[0] = (50 + left) / 127;
    once[1] = 1;
    cases.push_back({"rounding of the weight", uneven, ones});
    cases.push_back({"rounding of the weight, x with an outlier", once, outlier});
  }
  return cases;
}

}  // namespace tape::kernels::testing
