// Rotary positions in numbers: a query and a key are turned by angles that grow with their places, so that their
// product, the score of attention, depends on how far apart they are and on nothing else.
#include <tapeformer.h>

#include <fmt/core.h>
#include <cmath>

using namespace tape;

constexpr int64_t width = 8, length = 6;

// Scores [T, T] of one query and one key that stand at each of the places first, first + 1, ...
Tensor rotary_scores(const Tensor& query, const Tensor& key, int64_t first) {
  nn::Rotary rotary(width);
  const Tensor q = rotary(expand(query, {1, length, width}), first);  // [1, T, D]
  const Tensor k = rotary(expand(key, {1, length, width}), first);
  return matmul(q[0], k[0], {.transpose_b = true});
}

// The same with sines and cosines added.
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
  show("rotary, places 0 to 5: every diagonal holds one number", near);
  show("rotary, places 1000 to 1005: the same numbers", far);
  show("sinusoids added, places 0 to 5: each pair of places has a score of its own", absolute_scores(query, key, 0));

  // A turn changes no length, so that no place is louder than another.
  nn::Rotary rotary(width);
  const Tensor turned = rotary(expand(query, {1, length, width}))[0];
  fmt::print("length of the query: {:.3f}; turned, at each place:", std::sqrt(sum(square(query)).item()));
  for (const double norm : sqrt(sum(square(turned), {-1})).to_vector<double>()) fmt::print(" {:.3f}", norm);

  // In a layer an option does all of this, with key/value caches too.
  nn::MultiHeadAttention attention(2 * width, 2, {.rotary = nn::RotaryOptions{}});
  fmt::print("\n\n{}\n", nn::to_string(attention));
  return max(abs(near - far)).item() < 1e-9 ? 0 : 1;
}
