#pragma once

#include <array>
#include <cstring>
#include <limits>
#include <vector>

#include "autograd/create.h"
#include "autograd/memory.h"
#include "autograd/ops.h"
#include "base/physical_memory.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {

/// Limits memory in scope, since a few numbers can request any amount.
struct ScopedMemoryLimit {
  ScopedMemoryLimit() { set_memory_limit(memory_stats().live_bytes + (int64_t{64} << 20)); }
  ScopedMemoryLimit(const ScopedMemoryLimit&) = delete;
  ScopedMemoryLimit& operator=(const ScopedMemoryLimit&) = delete;
  ~ScopedMemoryLimit() { set_memory_limit(physical_memory()); }
};

/// Up to four axes of size up to five, occasionally empty or extreme.
inline Shape shape_of(Numbers& from) {
  std::vector<int64_t> sizes(static_cast<size_t>(from.byte() % 5));
  for (int64_t& size : sizes) {
    const int64_t value = from.byte();
    size = value == 200 ? Shape::kMaxElements : value == 201 ? 100 : value % 6;
  }
  return Shape(sizes);
}

/// Mostly small values; occasionally NaN, infinity, or a magnitude whose square overflows or underflows.
inline double value_of(Numbers& from) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const int64_t value = from.byte();
  if (value == 200) return std::numeric_limits<double>::quiet_NaN();
  if (value == 201) return kInfinity;
  if (value == 202) return -kInfinity;
  if (value == 203) return 1e300;
  if (value == 204) return 1e-300;
  return static_cast<double>(value % 32 - 12) / 4;
}

/// A tensor filled by repeating a few values.
template <size_t count, class Next>
Tensor repeating(const Shape& shape, DType dtype, const Next& next) {
  using T = decltype(next());
  Tensor x = zeros(shape, dtype);
  std::array<T, count> values;
  for (T& value : values) value = next();
  T* const to = x.mutable_data<T>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = values[static_cast<size_t>(i) % count];
  return x;
}
inline Tensor tensor_of(Numbers& from) {
  return repeating<7>(shape_of(from), f64, [&] { return value_of(from); });
}
inline Tensor ids_of(Numbers& from) {
  return repeating<5>(shape_of(from), i64, [&] { return from.next(); });
}

/// An operation on tensors with parameters taken from the input.
using Operation = Tensor (*)(const Tensors& x, Numbers& from);

/// Runs a sequence of operations, each on three new tensors. Each returns a tensor consistent with its shape and
/// gradients of the operands' shapes, or throws an Error; none modifies an operand.
template <size_t count>
void run_operations(const std::array<Operation, count>& operations, Bytes bytes) {
  const ScopedMemoryLimit limited;
  Numbers from(bytes);
  for (int steps = 0; from.more() && steps < 8; ++steps) {
    const auto at = static_cast<size_t>(from.byte()) % count;
    Tensors x, before;
    const auto made = accepted([&] {
      for (int i = 0; i < 3; ++i) {
        x.push_back(tensor_of(from).requires_grad_());
        before.push_back(x.back().detach().clone());
      }
    });
    if (!made) continue;
    const auto y = accepted([&] { return operations[at](x, from); });
    if (y) {
      expect(y->numel() == y->shape().numel(), "operation {}: the tensor is inconsistent with its shape", at);
      if (y->requires_grad() && y->dtype() == f64) accepted([&] { sum(*y).backward(); });
    }
    for (size_t i = 0; i < x.size(); ++i) {
      if (x[i].grad().defined())
        expect(x[i].grad().shape() == x[i].shape(), "operation {}: a gradient of shape {} for an operand of shape {}",
               at, to_string(x[i].grad().shape()), to_string(x[i].shape()));
      expect(std::memcmp(x[i].data<double>(), before[i].data<double>(),
                         static_cast<size_t>(x[i].numel()) * sizeof(double)) == 0,
             "operation {}: operand {} was modified", at, i);
    }
  }
}

}  // namespace tape::fuzz
