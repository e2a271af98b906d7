// Attention with values that can be followed by hand: each query attends to the keys that point in its direction.
#include <tapeformer.h>

#include <cmath>
#include <iostream>

#include <fmt/format.h>

using namespace tape;

/// "[10, 0, 2]". Rounds away the 1e-26 that softmax leaves on keys that do not match.
std::string row(const Tensor& values) {
  std::string text;
  for (const double value : values.to_vector<double>())
    text += fmt::format("{}{:g}", text.empty() ? "[" : ", ", std::round(value * 1e6) / 1e6);
  return text + "]";
}

int main() {
  const Tensor keys = tensor({{10, 0, 0}, {0, 10, 0}, {0, 0, 10}, {0, 0, 10}}, f64);
  const Tensor values = tensor({{1, 0, 1}, {10, 0, 2}, {100, 5, 0}, {1000, 6, 0}}, f64);
  const Tensor queries = tensor({{0, 10, 0}, {0, 0, 10}, {10, 10, 0}}, f64);

  const AttentionResult result = scaled_dot_product_attention_with_weights(queries, keys, values);
  for (int64_t i = 0; i < queries.size(0); ++i)
    std::cout << "query " << row(queries[i]) << "  weights " << row(result.weights[i]) << "  output "
              << row(result.output[i]) << "\n";
}
