// The step from the products q k^T to the scores under the softmax. Textbooks differ in how they mask scores here.
#pragma once

#include <tapeformer.h>

#include <cmath>
#include <functional>

using Scores = std::function<tape::Tensor(const tape::Tensor& products, double scale)>;

/// No mask.
inline tape::Tensor scaled(const tape::Tensor& products, double scale) { return products * scale; }

/// Replaces products before scaling where `hidden` (bool) is true. With -inf, a query whose keys are all masked gets
/// zero weights. With -1e20 it gets equal weights, because softmax depends only on differences.
inline Scores filled(const tape::Tensor& hidden, double value) {
  return [=](const tape::Tensor& products, double scale) { return masked_fill(products, hidden, value) * scale; };
}

/// Adds a matrix after scaling: 0 where a query may attend, -inf where it may not.
inline Scores added(const tape::Tensor& matrix) {
  return [=](const tape::Tensor& products, double scale) { return products * scale + matrix.to(products.dtype()); };
}

/// Keys after each query's position: true where j > i. [queries, keys]
inline tape::Tensor future(int64_t queries, int64_t keys) {
  return triu(tape::ones({queries, keys}, tape::boolean), 1);
}

/// The additive form of the same mask, triu(1) * -inf. A product would give 0 * -inf = NaN, so this takes triu of -inf.
inline tape::Tensor causal_bias(int64_t queries, int64_t keys) {
  return triu(tape::full({queries, keys}, -INFINITY), 1);
}
