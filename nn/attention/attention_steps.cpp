#include "nn/attention/attention_steps.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "autograd/create.h"
#include "autograd/device_checks.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/reduce.h"

namespace tape::nn {

int64_t check_d_model(const char* layer, int64_t d_model, int64_t heads) {
  if (d_model < 1 || heads < 1 || d_model % heads != 0)
    raise(ErrorKind::config, "{}: d_model {} is not divisible by heads {}", layer, d_model, heads);
  return d_model;
}

Tensor relative_position_rows(int64_t query_length, int64_t key_length, const std::function<int64_t(int64_t)>& row_of,
                              Device device) {
  // Each distance is computed once: a query's row is the previous row shifted by one.
  std::vector<int64_t> by_distance;
  for (int64_t distance = 1 - query_length; distance < key_length; ++distance) by_distance.push_back(row_of(distance));
  std::vector<int64_t> rows(static_cast<size_t>(query_length * key_length));
  for (int64_t i = 0; i < query_length; ++i)
    std::copy_n(by_distance.begin() + (query_length - 1 - i), key_length, rows.begin() + i * key_length);
  return from_vector(rows, {query_length, key_length}).to(device);
}

Mask uniform_if_all_hidden(const Mask& mask, DType dtype) {
  const Tensor& kept = mask.keep_mask();
  if (!kept.defined() || kept.rank() == 0) return mask;
  const Tensor hidden = logical_not(any(kept, {-1}, Dims::keep));
  if (!reading_waits(hidden.device()) && !any(hidden).item<bool>()) return mask;
  // Low enough that a score added to it is rounded away.
  constexpr double kLowest = std::numeric_limits<float>::lowest();
  const TensorOptions like(compute_dtype(dtype), kept.device());  // infinite in f16 and bf16
  const Tensor lowest = where(hidden, full(hidden.shape(), kLowest, like), zeros(hidden.shape(), like));
  Mask even = mask.structure() & Mask::keep(logical_or(kept, hidden)) & Mask::additive(lowest);
  return mask.bias().defined() ? even & Mask::additive(mask.bias()) : even;
}

}  // namespace tape::nn
