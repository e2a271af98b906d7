// Attention and rotary embedding: loops over the definition.

#include <algorithm>
#include <cmath>
#include <optional>

#include "autograd/mask.h"
#include "autograd/ops/attention/attention.h"
#include "autograd/ops/attention/rotary.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// leading + [rows, cols]
Shape score_shape(const Shape& leading, int64_t rows, int64_t cols) {
  const Shape one = leading.inserted(leading.rank(), rows);
  return one.inserted(one.rank(), cols);
}

/// A random mask for the scores [..., Tq, Tk], and what it adds to each score: -inf where it masks.
struct DrawnMask {
  DrawnMask(Draw& draw, const Shape& scores, DType dtype) {
    if (draw.chance(0.4)) offset = draw.between(0, 3);
    if (draw.chance(0.4)) window = {draw.between(0, 20), draw.between(0, 20), draw.between(0, 3)};
    if (draw.chance(0.4)) kept = draw.whole(draw.part_of(scores), boolean, 0, 1);
    if (draw.chance(0.4)) added = draw.values(draw.part_of(scores), dtype);
  }
  Mask mask(const Tensor& added_here) const {
    Mask all;
    if (offset) all = all & Mask::causal(*offset);
    if (window) all = all & Mask::window(window->left, window->right, window->offset);
    if (kept.defined()) all = all & Mask::keep(kept);
    if (added_here.defined()) all = all & Mask::additive(added_here);
    return all;
  }
  double operator()(const Index& index) const {
    double value = 0;
    const int64_t distance = index[index.size() - 1] - index[index.size() - 2];
    if (offset && distance > *offset) return -INFINITY;
    if (window && (distance < window->offset - window->left || distance > window->offset + window->right))
      return -INFINITY;
    if (kept.defined() && at(exact(kept), broadcast_index(kept.shape(), index)) == 0) return -INFINITY;
    if (added.defined()) value = at(exact(added), broadcast_index(added.shape(), index));
    return value;
  }
  struct Window {
    int64_t left, right, offset;
  };
  std::optional<int64_t> offset = {};
  std::optional<Window> window = {};
  Tensor kept = {}, added = {};
};

/// Attention of one query: weights, output and the magnitude that rounding is relative to.
struct Row {
  std::vector<double> weights, output, sizes;
};
template <class Q, class K, class V, class Masked>
Row attend(int64_t keys, int64_t depth, int64_t width, double scale, const Q& q, const K& k, const V& v,
           const Masked& masked) {
  Row row{std::vector<double>(static_cast<size_t>(keys)), std::vector<double>(static_cast<size_t>(width)),
          std::vector<double>(static_cast<size_t>(width))};
  double total = 0, largest = 0;
  for (int64_t j = 0; j < keys; ++j) {
    double score = masked(j), size = std::isinf(score) ? 0 : std::abs(score);
    for (int64_t d = 0; d < depth; ++d) score += scale * q(d) * k(j, d), size += std::abs(scale * q(d) * k(j, d));
    if (!std::isinf(score)) largest = std::max(largest, size);
    total += row.weights[static_cast<size_t>(j)] = std::exp(score);
  }
  for (int64_t j = 0; j < keys; ++j) {
    double& weight = row.weights[static_cast<size_t>(j)];
    weight = total == 0 ? 0 : weight / total;
    for (int64_t c = 0; c < width; ++c) {
      row.output[static_cast<size_t>(c)] += weight * v(j, c);
      row.sizes[static_cast<size_t>(c)] += std::abs(weight * v(j, c)) * (1 + 2 * largest);
    }
  }
  return row;
}

AttentionOptions attention_options(const DrawnMask& mask, const Tensors& in, std::optional<double> scale) {
  return {.mask = mask.mask(in.size() > 3 ? in[3] : Tensor()), .scale = scale};
}

Case draw_attention(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape leading = draw.shape(0, 2);
  const int64_t queries = draw.size(), keys = draw.chance(0.2) ? draw.between(15, 40) : draw.size();
  const int64_t depth = draw.between(1, 9), width = draw.between(1, 6);
  const std::optional<double> scale = draw.chance(0.3) ? std::optional(0.4) : std::nullopt;
  const Shape scores = score_shape(leading, queries, keys);
  const Tensor q = draw.values(score_shape(leading, queries, depth), dtype);
  const Tensor k = draw.values(score_shape(leading, keys, depth), dtype);
  const Tensor v = draw.values(score_shape(leading, keys, width), dtype);
  const DrawnMask mask(draw, scores, dtype);
  const Array qs = exact(q), ks = exact(k), vs = exact(v);
  const Shape out_shape = score_shape(leading, queries, width);
  Array expected = zeros_of(out_shape), magnitude = expected;
  const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(depth)));
  for (int64_t i = 0; i < leading.numel() * queries; ++i) {
    Index index = score_shape(leading, queries, 1).unravel(i);
    const Index query = index;
    const auto of = [&](const Array& array, int64_t row, int64_t col) {
      Index place = query;
      place[place.size() - 2] = row, place.back() = col;
      return at(array, place);
    };
    const Row row = attend(
        keys, depth, width, factor, [&](int64_t d) { return of(qs, query[query.size() - 2], d); },
        [&](int64_t j, int64_t d) { return of(ks, j, d); }, [&](int64_t j, int64_t c) { return of(vs, j, c); },
        [&](int64_t j) {
          index.back() = j;
          return mask(index);
        });
    std::copy(row.output.begin(), row.output.end(), expected.data() + i * width);
    std::copy(row.sizes.begin(), row.sizes.end(), magnitude.data() + i * width);
  }
  Tensors inputs{q, k, v};
  if (mask.added.defined()) inputs.push_back(mask.added);
  return {.inputs = inputs,
          .call =
              [=](const Tensors& in) {
                return scaled_dot_product_attention(in[0], in[1], in[2], attention_options(mask, in, scale));
              },
          .expected = expected,
          .dtype = dtype,
          .magnitude = magnitude,
          .length = depth + std::max<int64_t>(keys, 1)};
}

/// Packed heads, with or without groups that share keys, including the weights.
Case multi_head(Draw& draw, bool weights) {
  const DType dtype = draw.floating();
  const int64_t batch = draw.between(0, 3), shared = draw.between(1, 3),
                group = draw.chance(0.5) ? draw.between(1, 3) : 1;
  const int64_t heads = shared * group, queries = draw.size(), keys = draw.size();
  const int64_t depth = draw.between(1, 5), width = draw.between(1, 5);
  const Tensor q = draw.values({batch, queries, heads * depth}, dtype),
               k = draw.values({batch, keys, shared * depth}, dtype);
  const Tensor v = draw.values({batch, keys, shared * width}, dtype);
  const DrawnMask mask(draw, {batch, heads, queries, keys}, dtype);
  const Array qs = exact(q), ks = exact(k), vs = exact(v);
  Array output = zeros_of({batch, queries, heads * width}), sizes = output,
        chances = zeros_of({batch, heads, queries, keys});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < queries; ++i) {
        const Row row = attend(
            keys, depth, width, 1 / std::sqrt(static_cast<double>(depth)),
            [&](int64_t d) {
              return at(qs, {b, i, h * depth + d});
            },
            [&](int64_t j, int64_t d) {
              return at(ks, {b, j, h / group * depth + d});
            },
            [&](int64_t j, int64_t c) {
              return at(vs, {b, j, h / group * width + c});
            },
            [&](int64_t j) {
              return mask({b, h, i, j});
            });
        std::copy(row.output.begin(), row.output.end(), output.data() + flat(shape_of(output), {b, i, h * width}));
        std::copy(row.sizes.begin(), row.sizes.end(), sizes.data() + flat(shape_of(output), {b, i, h * width}));
        std::copy(row.weights.begin(), row.weights.end(), chances.data() + flat(shape_of(chances), {b, h, i, 0}));
      }
  Tensors inputs{q, k, v};
  if (mask.added.defined()) inputs.push_back(mask.added);
  Case drawn{.inputs = inputs,
             .call =
                 [=](const Tensors& in) {
                   AttentionOptions options = attention_options(mask, in, {});
                   options.enable_gqa = group > 1;
                   if (!weights) return multi_head_attention(in[0], in[1], in[2], heads, options);
                   return multi_head_attention_with_weights(in[0], in[1], in[2], heads, options).weights;
                 },
             .expected = weights ? chances : output,
             .dtype = dtype,
             .magnitude = weights ? Array(chances * 40.0) : sizes,
             .length = depth + std::max<int64_t>(keys, 1)};
  return drawn;
}
Case draw_multi_head_attention(Draw& draw) { return multi_head(draw, false); }
Case draw_attention_weights(Draw& draw) { return multi_head(draw, true); }

Case draw_rotary_embedding(Draw& draw) {
  const DType dtype = draw.floating();
  const int64_t batch = draw.between(0, 3), length = draw.size(), heads = draw.between(1, 3);
  const int64_t pairs = draw.between(1, 10), width = 2 * pairs + draw.between(0, 3);
  const RotaryEmbeddingOptions options{.num_heads = heads, .interleaved = draw.chance(0.5)};
  const Shape table = draw.chance(0.5) ? Shape{length, pairs} : Shape{batch, length, pairs};
  const Tensor x = draw.values({batch, length, heads * width}, dtype), c = draw.values(table, dtype),
               s = draw.values(table, dtype);
  const Array xs = exact(x), cs = exact(c), ss = exact(s);
  Array expected = xs, magnitude = xs;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const Index place = x.shape().unravel(i);
    const int64_t column = place[2] % width, first = place[2] - column;
    magnitude.data()[i] = std::abs(xs.data()[i]);
    if (column >= 2 * pairs) continue;
    const bool second = options.interleaved ? column % 2 == 1 : column >= pairs;
    const int64_t pair = options.interleaved ? column / 2 : column % pairs;
    const Index angle = table.rank() == 2 ? Index{place[1], pair} : Index{place[0], place[1], pair};
    const double u = at(xs, {place[0], place[1], first + (options.interleaved ? 2 * pair : pair)});
    const double v = at(xs, {place[0], place[1], first + (options.interleaved ? 2 * pair + 1 : pair + pairs)});
    const double cosine = at(cs, angle), sine = at(ss, angle);
    expected.data()[i] = second ? u * sine + v * cosine : u * cosine - v * sine;
    magnitude.data()[i] =
        std::abs(u) * std::abs(second ? sine : cosine) + std::abs(v) * std::abs(second ? cosine : sine);
  }
  return {.inputs = {x, c, s},
          .call = [=](const Tensors& in) { return rotary_embedding(in[0], in[1], in[2], options); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = magnitude,
          .length = 2};
}

}  // namespace

void add_attention(std::vector<Property>& all) {
  all.insert(all.end(), {{"attention", "scaled_dot_product_attention", draw_attention},
                         {"multi_head_attention", "scaled_dot_product_attention", draw_multi_head_attention},
                         {"attention_weights", "scaled_dot_product_attention", draw_attention_weights},
                         {"rotary_embedding", "rotary_embedding", draw_rotary_embedding}});
}

}  // namespace tape::properties
