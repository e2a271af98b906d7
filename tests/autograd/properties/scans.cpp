// Scans and medians along an axis: loops over its lines.

#include <algorithm>
#include <cmath>

#include "autograd/ops/reduce/scan.h"
#include "autograd/ops/reduce/statistics.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// A shape and one of its axes, counted from the front.
struct Lines {
  explicit Lines(Draw& draw) : shape(draw.shape(1)), axis(draw.axis(shape)) {
    front = axis < 0 ? axis + shape.rank() : axis;
  }
  /// value(the line up to and including an index) for every index.
  template <class Value>
  Array scanned(const Array& x, const Value& value) const {
    return build(shape, [&](const Index& index) {
      std::vector<double> before = line(x, index, front);
      before.resize(static_cast<size_t>(index[static_cast<size_t>(front)]) + 1);
      return value(before);
    });
  }
  int64_t length() const { return std::max<int64_t>(1, shape[front]); }
  Shape shape;
  int64_t axis, front = 0;
};

Case draw_cumprod(Draw& draw) {
  const Lines lines(draw);
  const DType dtype = draw.floating();
  const Tensor x = draw.values(lines.shape, dtype, -1.5, 1.5);
  return {.inputs = {x},
          .call = [axis = lines.axis](const Tensors& in) { return cumprod(in[0], axis); },
          .expected = lines.scanned(exact(x),
                                    [](const std::vector<double>& all) {
                                      double product = 1;
                                      for (const double v : all) product *= v;
                                      return product;
                                    }),
          .dtype = dtype,
          .length = lines.length()};
}
Case draw_logcumsumexp(Draw& draw) {
  const Lines lines(draw);
  const DType dtype = draw.floating();
  const Tensor x = draw.values(lines.shape, dtype, -9, 9);
  const Array expected = lines.scanned(exact(x), [](const std::vector<double>& all) {
    double sum = 0;
    for (const double v : all) sum += std::exp(v);
    return std::log(sum);
  });
  return {.inputs = {x},
          .call = [axis = lines.axis](const Tensors& in) { return logcumsumexp(in[0], axis); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = xt::abs(expected) + 1.0,
          .length = lines.length()};
}
Case best_so_far(Draw& draw, TopK (*f)(const Tensor&, int64_t), bool largest, bool positions) {
  const Lines lines(draw);
  const DType dtype = draw.floating();
  const Tensor x = positions ? draw.whole(lines.shape, dtype, -3, 3) : draw.distinct(lines.shape, dtype);
  return {.inputs = {x},
          .call = [=, axis = lines.axis](
                      const Tensors& in) { return positions ? f(in[0], axis).indices : f(in[0], axis).values; },
          .expected = lines.scanned(exact(x),
                                    [=](const std::vector<double>& all) {
                                      size_t best = 0;
                                      for (size_t i = 1; i < all.size(); ++i)
                                        if (largest ? all[i] >= all[best] : all[i] <= all[best]) best = i;
                                      return positions ? static_cast<double>(best) : all[best];
                                    }),
          .dtype = positions ? i64 : dtype,
          .length = 0};
}
Case draw_cummax(Draw& draw) { return best_so_far(draw, cummax, true, false); }
Case draw_cummin(Draw& draw) { return best_so_far(draw, cummin, false, false); }
Case draw_cummax_positions(Draw& draw) { return best_so_far(draw, cummax, true, true); }
Case draw_cummin_positions(Draw& draw) { return best_so_far(draw, cummin, false, true); }

Case draw_linear_scan(Draw& draw) {
  const Lines lines(draw);
  const DType dtype = draw.floating();
  const bool reverse = draw.chance(0.5);
  const Tensor a = draw.values(lines.shape, dtype, -1, 1), b = draw.values(lines.shape, dtype);
  const Array factors = exact(a), terms = exact(b);
  const int64_t last = lines.shape[lines.front] - 1;
  Array expected = zeros_of(lines.shape), magnitude = expected;
  for (int64_t s = 0; s <= last; ++s) {
    for (int64_t i = 0; i < lines.shape.numel(); ++i) {
      Index index = lines.shape.unravel(i);
      int64_t& place = index[static_cast<size_t>(lines.front)];
      if (place != (reverse ? last - s : s)) continue;
      expected.data()[i] = terms.data()[i];
      magnitude.data()[i] = std::abs(terms.data()[i]);
      if (s == 0) continue;
      place += reverse ? 1 : -1;
      expected.data()[i] += factors.data()[i] * at(expected, index);
      magnitude.data()[i] += std::abs(factors.data()[i]) * at(magnitude, index);
    }
  }
  return {.inputs = {a, b},
          .call = [reverse, axis = lines.axis](
                      const Tensors& in) { return linear_scan(in[0], in[1], axis, {.reverse = reverse}); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = magnitude,
          .length = lines.length()};
}

/// One value per line.
template <class Value>
Array of_lines(const Array& x, const Shape& shape, int64_t front, Dims dims, const Value& value) {
  Array all = build(shape.with(front, 1), [&](const Index& index) {
    std::vector<double> values = line(x, index, front);
    std::sort(values.begin(), values.end());
    return value(values);
  });
  const Shape dropped = shape.removed(front);
  if (dims == Dims::drop) all.reshape(std::vector<size_t>(dropped.begin(), dropped.end()));
  return all;
}
struct FilledLines : Lines {
  explicit FilledLines(Draw& draw) : Lines(draw), dims(draw.chance(0.5) ? Dims::keep : Dims::drop) {
    if (shape[front] == 0) shape = shape.with(front, 2);
  }
  Dims dims;
};

Case draw_median(Draw& draw) {
  const FilledLines lines(draw);
  const DType dtype = draw.floating();
  const Tensor x = draw.distinct(lines.shape, dtype);
  return {
      .inputs = {x},
      .call = [axis = lines.axis, dims = lines.dims](const Tensors& in) { return median(in[0], axis, dims).values; },
      .expected = of_lines(exact(x), lines.shape, lines.front, lines.dims,
                           [](const std::vector<double>& sorted) { return sorted[(sorted.size() - 1) / 2]; }),
      .dtype = dtype,
      .length = 0};
}
Case draw_quantile(Draw& draw) {
  const FilledLines lines(draw);
  const DType dtype = draw.floating();
  const double q = draw.one_of({0.0, 0.25, 0.4, 1.0});
  const Tensor x = draw.distinct(lines.shape, dtype);
  const Array values = exact(x);
  const auto at_place = [q](const std::vector<double>& sorted) {
    const double place = q * static_cast<double>(sorted.size() - 1);
    const size_t below = static_cast<size_t>(place), above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - std::floor(place)) * (sorted[above] - sorted[below]);
  };
  return {.inputs = {x},
          .call = [q, axis = lines.axis,
                   dims = lines.dims](const Tensors& in) { return quantile(in[0], q, axis, {.dims = dims}); },
          .expected = of_lines(values, lines.shape, lines.front, lines.dims, at_place),
          .dtype = dtype,
          .magnitude = of_lines(values, lines.shape, lines.front, lines.dims, [](const std::vector<double>& sorted) {
            return std::max(std::abs(sorted.front()), std::abs(sorted.back()));
          })};
}

}  // namespace

void add_scans(std::vector<Property>& all) {
  all.insert(all.end(), {{"cumprod", "cumprod", draw_cumprod},
                         {"logcumsumexp", "logcumsumexp", draw_logcumsumexp},
                         {"cummax", "cummax", draw_cummax},
                         {"cummin", "cummin", draw_cummin},
                         {"cummax_positions", nullptr, draw_cummax_positions},
                         {"cummin_positions", nullptr, draw_cummin_positions},
                         {"linear_scan", "linear_scan", draw_linear_scan},
                         {"median", "median", draw_median},
                         {"quantile", "sort", draw_quantile}});
}

}  // namespace tape::properties
