// Rotary position embedding (RoPE) by example: a query and a key are rotated by angles proportional to their positions,
// so their product, the attention score, depends only on the distance between them.
#include <tapeformer.h>

#include <fmt/core.h>
#include <cmath>

using namespace tape;

constexpr int64_t width = 8, length = 6;

// Scores [T, T] of one query vector and one key vector, both repeated at positions first, first + 1, ...
Tensor rotary_scores(const Tensor& query, const Tensor& key, int64_t first) {
  nn::Rotary rotary(width);
  const Tensor q = rotary(expand(query, {1, length, width}), first);  // [1, T, D]
  const Tensor k = rotary(expand(key, {1, length, width}), first);
  return matmul(q[0], k[0], {.transpose_b = true});
}

// The same with added sines and cosines instead of rotations.
Tensor absolute_scores(const Tensor& query, const Tensor& key, int64_t first) {
  nn::PositionalEncoding positions(width, 5000);
  positions.to(f64);
  const Tensor q = positions(expand(query, {1, length, width}), first);
  const Tensor k = positions(expand(key, {1, length, width}), first);
  return matmul(q[0], k[0], {.transpose_b = true});
}

void show(const char* title, const Tensor& scores) {
  fmt::print("{}\n", title);
  for (int64_t i = 0; i < length; ++i) {
    for (const double score : scores[i].to_vector<double>()) fmt::print("{:8.3f}", score);
    fmt::print("\n");
  }
}

int main() {
  manual_seed(1);
  const Tensor query = randn({width}, f64), key = randn({width}, f64);

  const Tensor near = rotary_scores(query, key, 0), far = rotary_scores(query, key, 1000);
  show("rotary, positions 0 to 5: each diagonal is constant", near);
  show("rotary, positions 1000 to 1005: the same values", far);
  show("sinusoids, positions 0 to 5: a different score for each pair of positions", absolute_scores(query, key, 0));

  // A rotation does not change the norm, so no position is favored.
  nn::Rotary rotary(width);
  const Tensor rotated = rotary(expand(query, {1, length, width}))[0];
  fmt::print("norm of the query: {:.3f}; after rotation, at each position:", std::sqrt(sum(square(query)).item()));
  for (const double norm : sqrt(sum(square(rotated), {-1})).to_vector<double>()) fmt::print(" {:.3f}", norm);

  // In a layer, one option enables this, also with key/value caches.
  nn::MultiHeadAttention attention(2 * width, 2, {.rotary = nn::RotaryOptions{}});
  fmt::print("\n\n{}\n", nn::to_string(attention));
  return max(abs(near - far)).item() < 1e-9 ? 0 : 1;
}
