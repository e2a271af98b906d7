#include "autograd/ops/shape/shape.h"

#include <vector>

#include "autograd/create.h"
#include "autograd/ops/index/index.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/target.h"

namespace tape::fuzz {
namespace {

Tensor step(const Tensor& x, Numbers& from) {
  const int64_t kind = from.next(), a = from.next(), b = from.next(), c = from.next();
  const std::vector<int64_t> list = from.list();
  switch (kind) {
    case -6:
      return reshape(x, list);
    case -5:
      return flatten(x, a, b);
    case -4:
      return squeeze(x, Axes(list));
    case -3:
      return unsqueeze(x, a);
    case -2:
      return expand(x, list);
    case -1:
      return permute(x, list);
    case 0:
      return transpose(x, a, b);
    case 1:
      return select(x, a, b);
    case 2:
      return slice(x, a, {.start = b, .end = c, .step = std::ssize(list)});
    case 3:
      return index_select(x, a, from_vector(list));
    case 4:
      return sum_to(x, Shape(list));
    case 5:
      return gather(x, a, from_vector(list));
    case 6:
      return one_hot(from_vector(list), a, f64);
    default:
      return clone(x);
  }
}

}  // namespace

/// Chains views and indexing operations that the input selects. Each step returns a tensor with readable values, or
/// throws an Error; none modifies its operand.
void fuzz_shapes(Bytes bytes) {
  Numbers from(bytes);
  const Tensor start = reshape(arange(24, f64), {2, 3, 4});
  Tensor x = start;
  for (int steps = 0; from.more() && steps < 12; ++steps) {
    const auto next = accepted([&] { return step(x, from); });
    if (!next) continue;
    expect(next->numel() == next->shape().numel() && next->dtype() == f64, "the tensor is inconsistent with its shape");
    double sum = 0;
    for (int64_t i = 0; i < next->numel(); ++i) sum += next->data<double>()[i];
    expect(sum == sum, "an undefined value");
    if (next->numel() <= 5000) x = *next;
  }
  for (int64_t i = 0; i < 24; ++i) expect(start.data<double>()[i] == static_cast<double>(i), "an operand was modified");
}

}  // namespace tape::fuzz
