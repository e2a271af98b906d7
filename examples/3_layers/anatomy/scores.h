// What stands between the products q k^T and the softmax. Texts differ here in how they hide what must not be seen.
#pragma once

#include <tapeformer.h>

#include <cmath>
#include <functional>

using Scores = std::function<tape::Tensor(const tape::Tensor& products, double scale)>;

/// Nothing is hidden.
inline tape::Tensor scaled(const tape::Tensor& products, double scale) { return products * scale; }

/// What is hidden (bool, true hides) is replaced before the scale. With -inf a query that sees nothing gets zeros; with
/// -1e20 it gets equal weights of everything, because softmax sees differences alone.
inline Scores filled(const tape::Tensor& hidden, double value) {
  return [=](const tape::Tensor& products, double scale) { return masked_fill(products, hidden, value) * scale; };
}

/// A matrix is added behind the scale: 0 where a query may look, -inf where not.
inline Scores added(const tape::Tensor& matrix) {
  return [=](const tape::Tensor& products, double scale) { return products * scale + matrix.to(products.dtype()); };
}

/// The keys behind each query: true where j > i.
inline tape::Tensor future(int64_t queries, int64_t keys) {
  return triu(tape::ones({queries, keys}, tape::boolean), 1);
}

/// The same to be added: triu(1) * -inf. Multiplied out, its zeros would be 0 * -inf, which is no number.
inline tape::Tensor minus_infinity_above(int64_t queries, int64_t keys) {
  return triu(tape::full({queries, keys}, -INFINITY), 1);
}
