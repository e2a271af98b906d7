#include "tests/fuzz/operands.h"

namespace tape::fuzz {
namespace {

/// Parameters after the tensor: an axis, two numbers and a list, each small or extreme.
struct Given {
  int64_t axis, a, b;
  std::vector<int64_t> list;

  Axes axes() const { return Axes(list); }
  Tensor places() const { return from_vector(list); }
};

using AlongAxes = Tensor (*)(const Tensor& x, const Given& given);

/// The corpus contains indices into this list, so the order must not change.
constexpr std::array kOperations = std::to_array<AlongAxes>({
    [](const Tensor& x, const Given& g) { return sum(x, g.axes()); },
    [](const Tensor& x, const Given& g) { return mean(x, g.axes(), Dims::keep); },
    [](const Tensor& x, const Given& g) { return max(x, g.axes()); },
    [](const Tensor& x, const Given& g) { return var(x, g.axes(), {.correction = g.a}); },
    [](const Tensor& x, const Given& g) { return logsumexp(x, g.axes()); },
    [](const Tensor& x, const Given& g) { return prod(x, g.axes()); },
    [](const Tensor& x, const Given& g) { return norm(x, static_cast<double>(g.a), g.axes()); },
    [](const Tensor& x, const Given& g) { return median(x, g.axis).values; },
    [](const Tensor& x, const Given& g) { return quantile(x, 0.3, g.axis); },
    [](const Tensor& x, const Given& g) { return softmax(x, g.axis); },
    [](const Tensor& x, const Given& g) { return log_softmax(x, g.axis); },
    [](const Tensor& x, const Given& g) { return cumsum(x, g.axis); },
    [](const Tensor& x, const Given& g) { return cumprod(x, g.axis); },
    [](const Tensor& x, const Given& g) { return logcumsumexp(x, g.axis); },
    [](const Tensor& x, const Given& g) { return cummax(x, g.axis).values; },
    [](const Tensor& x, const Given& g) { return sort(x, g.axis).values; },
    [](const Tensor& x, const Given& g) { return topk(x, g.a, g.axis).values; },
    [](const Tensor& x, const Given& g) { return flip(x, g.axes()); },
    [](const Tensor& x, const Given& g) { return roll(x, g.a, g.axis); },
    [](const Tensor& x, const Given& g) {
      return pad(x, {{g.a, g.b}, {g.b, g.a}});
    },
    [](const Tensor& x, const Given& g) { return unfold(x, g.axis, g.a, g.b); },
    [](const Tensor& x, const Given& g) { return diagonal(x, g.a, g.axis, g.b); },
    [](const Tensor& x, const Given& g) { return diag_embed(x, g.a, g.axis, g.b); },
    [](const Tensor& x, const Given& g) { return triu(x, g.a); },
    [](const Tensor& x, const Given& g) {
      return cat({x, x}, g.axis);
    },
    [](const Tensor& x, const Given& g) {
      return stack({x, x}, g.axis);
    },
    [](const Tensor& x, const Given& g) { return cat(split(x, g.list, g.axis), g.axis); },
    [](const Tensor& x, const Given& g) { return chunk(x, g.a % 8, g.axis).front(); },
    [](const Tensor& x, const Given& g) { return repeat(x, g.list); },
    [](const Tensor& x, const Given& g) { return repeat_interleave(x, g.a, g.axis); },
    [](const Tensor& x, const Given& g) { return put_slice(x, g.axis, g.a, slice(x, g.axis, {.start = g.b})); },
    [](const Tensor& x, const Given& g) {
      return index_add(x, g.axis, g.places(), index_select(x, g.axis, g.places()));
    },
    [](const Tensor& x, const Given& g) {
      return index_copy(x, g.axis, g.places(), index_select(x, g.axis, g.places()));
    },
    [](const Tensor& x, const Given& g) { return scatter(x, g.axis, full(x.shape(), g.a, i64), x); },
    [](const Tensor& x, const Given& g) { return scatter_add(x, g.axis, full(x.shape(), g.a, i64), x); },
    [](const Tensor& x, const Given& g) {
      return scatter_reduce(x, g.axis, full(x.shape(), g.a, i64), x, Reduce::mean);
    },
    [](const Tensor& x, const Given& g) { return gather(x, g.axis, full(x.shape(), g.a, i64)); },
    [](const Tensor& x, const Given& g) {
      return index(x, {g.places(), SliceOptions{.start = g.a, .step = g.b}});
    },
    [](const Tensor& x, const Given& g) { return masked_select(x, gt(x, g.a)); },
    [](const Tensor& x, const Given& g) { return layer_norm(x) + group_norm(x, g.a); },
    [](const Tensor& x, const Given& g) {
      return conv1d(x, ones({1, x.rank() > 1 ? x.size(1) : 1, 2}, f64), {}, {.stride = g.a, .padding = g.b});
    },
    [](const Tensor& x, const Given& g) { return max_pool1d(x, g.a, {.stride = g.b}); },
    [](const Tensor& x, const Given& g) { return avg_pool1d(x, g.a, {.padding = g.b}); },
    [](const Tensor& x, const Given& g) { return adaptive_avg_pool1d(x, g.a); },
    [](const Tensor& x, const Given& g) { return matmul(x, transpose(x, g.axis, -1)); },
    [](const Tensor& x, const Given& g) { return reshape(x, g.list); },
    [](const Tensor& x, const Given& g) { return slice(x, g.axis, {.start = g.a, .end = g.b}); },
    [](const Tensor& x, const Given& g) { return permute(x, g.list); },
});

}  // namespace

/// Chains operations along axes that the input selects. Each returns values and a gradient of the operand's shape, or
/// throws an Error; none modifies its operand.
void fuzz_axes(Bytes bytes) {
  const ScopedMemoryLimit limited;
  const Tensor start = reshape(arange(24, f64), {2, 3, 4});
  Tensor x = start;
  Numbers from(bytes);
  for (int steps = 0; from.more() && steps < 8; ++steps) {
    const auto at = static_cast<size_t>(from.byte()) % kOperations.size();
    const Given given{from.next(), from.next(), from.next(), from.list()};
    x = x.detach().requires_grad_();
    const auto y = accepted([&] { return kOperations[at](x, given); });
    if (!y) continue;
    expect(y->numel() == y->shape().numel() && y->dtype() == f64, "the tensor is inconsistent with its shape");
    if (y->requires_grad() && accepted([&] { sum(*y).backward(); }))
      expect(x.grad().shape() == x.shape(), "operation {}: a gradient of shape {} for an operand of shape {}", at,
             to_string(x.grad().shape()), to_string(x.shape()));
    if (y->numel() <= 500) x = *y;
  }
  for (int64_t i = 0; i < 24; ++i) expect(start.data<double>()[i] == static_cast<double>(i), "an operand was modified");
}

}  // namespace tape::fuzz
