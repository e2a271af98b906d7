#include <cmath>

#include "autograd/tape/backward.h"
#include "autograd/tape/scope.h"
#include "tests/fuzz/operands.h"

namespace tape::fuzz {
namespace {

/// Mostly small lengths, occasionally one of several blocks, or 0.
int64_t length_of(Numbers& from) {
  const int64_t value = from.byte();
  return value < 200 ? value % 7 : value % 80;
}

/// Matching sizes, unless a byte selects otherwise.
struct Sizes {
  explicit Sizes(Numbers& from)
      : batch(from.byte() % 3),
        heads(from.byte() % 4),
        group(1 + from.byte() % 2),
        queries(length_of(from)),
        keys(length_of(from)),
        width(from.byte() % 5),
        value_width(from.byte() % 5) {}
  int64_t batch, heads, group, queries, keys, width, value_width;
};

/// A tensor that repeats values of moderate size, so that the two backends can be compared.
Tensor values_of(Numbers& from, const Shape& shape, bool any = false) {
  const auto next = [&] { return any ? value_of(from) : static_cast<double>(from.byte() % 32 - 12) / 4; };
  return repeating<5>(shape, f64, next).requires_grad_();
}

/// A shape that broadcasts to the scores, unless a byte selects otherwise.
Shape scores_of(Numbers& from, const Sizes& s) {
  std::vector<int64_t> sizes{s.batch, s.heads, s.queries, s.keys};
  for (int64_t& size : sizes) {
    const int64_t value = from.byte();
    if (value % 3 == 0) size = 1;
    if (value == 255) size = 7;
  }
  return Shape(sizes);
}

/// A row index for each key of each batch element, possibly out of range.
Tensor rows_of(Numbers& from, const Sizes& s) {
  const int64_t elements = s.batch + (from.byte() == 255), keys = s.keys + from.byte() % 2;
  return repeating<5>({elements, keys}, i64, [&] {
    const int64_t value = from.byte();
    return value > 250 ? value : value % std::max<int64_t>(1, s.batch);
  });
}

struct Masked {
  Mask mask;
  Tensor added;  ///< the last additive mask, if any
};

void hide_some(Masked& masked, Numbers& from, const Sizes& s) {
  switch (from.byte() % 5) {
    case 0:
      masked.mask = masked.mask & Mask::causal(from.next());
      break;
    case 1: {
      const int64_t left = from.next(), right = from.next(), offset = from.next();
      masked.mask = masked.mask & Mask::window(left, right, offset);
      break;
    }
    case 2: {
      const Tensor ids = cast(values_of(from, {s.batch, s.keys}), i64).detach();
      masked.mask = masked.mask & Mask::padding(ids, from.next());
      break;
    }
    case 3: {
      const Shape shape = scores_of(from, s);
      masked.mask = masked.mask & Mask::keep(gt(values_of(from, shape), 0));
      break;
    }
    case 4: {
      const Shape shape = scores_of(from, s);
      masked.added = values_of(from, shape, true);
      masked.mask = masked.mask & Mask::additive(masked.added);
      break;
    }
  }
}

/// Output, weights if requested, and gradients of all inputs.
template <class Call>
Tensors with_gradients(const Call& call, const Tensors& leaves) {
  Tensors found = call();
  Tensor loss = scalar(0, f64);
  for (const Tensor& y : found) loss = loss + sum(y * reshape(arange(y.numel(), f64), y.shape())) / 16.0;
  if (!loss.requires_grad()) return found;
  for (const Tensor& gradient : grad({loss}, leaves, {.retain_graph = true, .allow_unused = true}))
    found.push_back(gradient.defined() ? gradient : scalar(0, f64));
  return found;
}

bool all_finite(const Tensor& x) { return all(isfinite(x)).item<bool>(); }

/// Whether |a - b| is small relative to the largest value of both, ignoring non-finite values.
bool near(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape())) return false;
  if (a.numel() == 0) return true;
  const double largest = 1 + max(abs(a)).item() + max(abs(b)).item();
  return max(abs(a - b)).item() <= 1e-9 * largest;
}

}  // namespace

/// Attention under masks of every kind. The fused kernels and the composed steps give the same output and gradients, or
/// both throw an Error.
void fuzz_attention(Bytes bytes) {
  const ScopedMemoryLimit limited;
  Numbers from(bytes);
  for (int steps = 0; from.more() && steps < 4; ++steps) {
    const Sizes s(from);
    const bool side_by_side = from.flag(), with_weights = from.flag();
    const int64_t kv_heads = s.group == 1 ? s.heads : s.heads / s.group;
    const auto shape = [&](int64_t heads, int64_t length, int64_t width) {
      return side_by_side ? Shape{s.batch, length, heads * width} : Shape{s.batch, heads, length, width};
    };
    const Tensor query = values_of(from, shape(s.heads, s.queries, s.width)),
                 key = values_of(from, shape(kv_heads, s.keys, s.width)),
                 value = values_of(from, shape(kv_heads, s.keys, s.value_width));
    Masked masked;
    AttentionOptions options{.enable_gqa = s.group > 1 || from.flag()};
    if (from.flag()) options.scale = value_of(from);
    const int64_t length = from.flag() ? from.next() : s.keys;
    if (from.byte() == 255) options.dropout = value_of(from);
    const int64_t heads = from.byte() == 255 ? from.next() : s.heads;
    const int64_t masks = from.byte() % 4;
    if (!accepted([&] {
          for (int64_t i = 0; i < masks; ++i) hide_some(masked, from, s);
        }))
      continue;
    options.mask = masked.mask;
    const KvCacheView cached{key, value, length, from.flag() ? rows_of(from, s) : Tensor()};
    const auto call = [&]() -> Tensors {
      if (with_weights) {
        const AttentionResult both = side_by_side
                                         ? multi_head_attention_with_weights(query, cached, heads, options)
                                         : scaled_dot_product_attention_with_weights(query, key, value, options);
        return {both.output, both.weights};
      }
      return {side_by_side ? multi_head_attention(query, cached, heads, options)
                           : scaled_dot_product_attention(query, key, value, options)};
    };
    Tensors leaves{query, key, value};
    if (masked.added.defined()) leaves.push_back(masked.added);
    const auto fused = accepted([&] { return with_gradients(call, leaves); });
    const auto composed = accepted([&] {
      const Composed steps_apart;
      return with_gradients(call, leaves);
    });
    expect(fused.has_value() == composed.has_value(), "only one backend rejects the call");
    if (!fused || options.dropout != 0) continue;
    expect(fused->size() == composed->size(), "{} results and {}", fused->size(), composed->size());
    const bool numbers = (!options.scale || std::isfinite(*options.scale)) && std::abs(options.scale.value_or(0)) < 1e3;
    for (size_t i = 0; i < fused->size(); ++i) {
      const Tensor &a = (*fused)[i], &b = (*composed)[i];
      expect(a.shape() == b.shape(), "result {}: {} and {}", i, to_string(a.shape()), to_string(b.shape()));
      if (numbers && all_finite(a) && all_finite(b)) expect(near(a, b), "result {} differs from the composed steps", i);
    }
  }
}

}  // namespace tape::fuzz
