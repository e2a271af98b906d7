#include "nn/position/alibi.h"

#include <bit>
#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/shape/shape.h"

namespace tape::nn {

Tensor alibi_slopes(int64_t heads, DType dtype) {
  if (heads < 1) raise(ErrorKind::config, "alibi_slopes: the number of heads must be at least 1, got {}", heads);
  const auto power = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(heads)));
  std::vector<double> slopes;
  for (int64_t h = 1; h <= heads; ++h) {
    // After the first n, the odd slopes of 2n: 1, 3, 5, ...
    const double place = static_cast<double>(h <= power ? h : 2 * (h - power) - 1);
    const double count = static_cast<double>(h <= power ? power : 2 * power);
    slopes.push_back(std::exp2(-8 * place / count));
  }
  return from_vector(slopes).to(dtype);
}

Mask alibi(int64_t heads, int64_t query_length, int64_t key_length, int64_t first, DType dtype) {
  if (query_length < 0 || key_length < 0 || first < 0)
    raise(ErrorKind::config, "alibi: lengths and the first position must not be negative, got {}, {} and {}",
          query_length, key_length, first);
  const Tensor query = reshape(arange(query_length, f64) + static_cast<double>(first), Shape{query_length, 1});
  const Tensor distance = abs(query - arange(key_length, f64));
  const Tensor slopes = reshape(alibi_slopes(heads, f64), Shape{heads, 1, 1});
  return Mask::additive((-(slopes * distance)).to(dtype));
}

}  // namespace tape::nn
