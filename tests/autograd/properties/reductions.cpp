// Reductions over any axes: xtensor's, with axes sorted and counted from the front. xt::amax and xt::amin ignore NaN,
// so none is drawn here (see Extremes.ReturnNaNIfThereIsOne); lazy reductions with keep_dims are wrong, so axes are
// restored afterwards.

#include <algorithm>
#include <cmath>

#include <xtensor/xmath.hpp>

#include "autograd/create.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/reduce/product.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/reduce/statistics.h"
#include "autograd/ops/shape/shape.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

/// The axes of a reduction (all by default), and the resulting shape.
struct Reduced {
  explicit Reduced(Draw& draw, const Shape& shape) : given(draw.chance(0.2) ? Index() : draw.axes(shape)) {
    std::vector<bool> meant(static_cast<size_t>(shape.rank()), given.empty());
    for (const int64_t axis : given) meant[static_cast<size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
    if (draw.chance(0.4)) dims = Dims::keep;
    std::vector<int64_t> sizes;
    for (int64_t axis = 0; axis < shape.rank(); ++axis) {
      const bool gone = meant[static_cast<size_t>(axis)];
      if (gone) sorted.push_back(static_cast<size_t>(axis)), length *= shape[axis];
      if (!gone || dims == Dims::keep) sizes.push_back(gone ? 1 : shape[axis]);
    }
    result = sizes;
  }

  /// reduce(x, axes) of xtensor with the shape of the result. For an empty x, xtensor moves a null pointer, so
  /// `of_nothing` fills the result.
  template <class Reduce>
  Array of(const Array& x, const Reduce& reduce, double of_nothing = NAN) const {
    if (x.size() == 0) return zeros_of(result) + of_nothing;
    if (sorted.empty()) return x;
    Array y = reduce(x, sorted);
    y.reshape(std::vector<size_t>(result.begin(), result.end()));
    return y;
  }
  Array sum(const Array& x) const {
    return of(
        x, [](const Array& a, auto& axes) -> Array { return xt::sum(a, axes); }, 0.0);
  }
  Array product(const Array& x) const {
    return of(
        x, [](const Array& a, auto& axes) -> Array { return xt::prod(a, axes); }, 1.0);
  }

  Index given;
  std::vector<size_t> sorted = {};
  Dims dims = Dims::drop;
  Shape result = {};
  int64_t length = 1;  ///< number of values per element of the result
};

/// A shape for which no reduction is over an empty set.
Shape filled(Draw& draw) {
  std::vector<int64_t> sizes = draw.shape().to_vector();
  for (int64_t& size : sizes) size = std::max<int64_t>(size, 1);
  return sizes;
}

Case draw_sum(Draw& draw) {
  const DType dtype = draw.one_of({f32, f32, f64, i64, boolean});
  const Shape shape = draw.shape();
  const Tensor x = is_floating(dtype) ? draw.values(shape, dtype)
                                      : draw.whole(shape, dtype, dtype == boolean ? 0 : -9, dtype == boolean ? 1 : 9);
  const Reduced over(draw, shape);
  return {.inputs = {x},
          .call = [over](const Tensors& in) { return sum(in[0], over.given, over.dims); },
          .expected = over.sum(exact(x)),
          .dtype = is_floating(dtype) ? dtype : i64,
          .magnitude = over.sum(xt::abs(exact(x))),
          .length = is_floating(dtype) ? std::max<int64_t>(over.length, 1) : 0};
}

Case draw_mean(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const Tensor x = draw.values(shape, dtype);
  const Reduced over(draw, shape);
  const double n = static_cast<double>(over.length);
  return {.inputs = {x},
          .call = [over](const Tensors& in) { return mean(in[0], over.given, over.dims); },
          .expected = over.sum(exact(x)) / n,
          .dtype = dtype,
          .magnitude = over.sum(xt::abs(exact(x))) / n,
          .length = over.length};
}

Case draw_max(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const Tensor x = draw.distinct(shape, dtype);
  const Reduced over(draw, shape);
  return {.inputs = {x},
          .call = [over](const Tensors& in) { return max(in[0], over.given, over.dims); },
          .expected = over.of(exact(x), [](const Array& a, auto& axes) -> Array { return xt::amax(a, axes); }),
          .dtype = dtype,
          .length = 0};
}

Case draw_min(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const Tensor x = draw.distinct(shape, dtype);
  const Reduced over(draw, shape);
  return {.inputs = {x},
          .call = [over](const Tensors& in) { return min(in[0], over.given, over.dims); },
          .expected = over.of(exact(x), [](const Array& a, auto& axes) -> Array { return xt::amin(a, axes); }),
          .dtype = dtype,
          .length = 0};
}

Case draw_var(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const Tensor x = draw.values(shape, dtype);
  const Reduced over(draw, shape);
  const int64_t correction = over.length > 1 ? draw.between(0, 1) : 0;
  const double n = static_cast<double>(over.length), divisor = static_cast<double>(over.length - correction);
  const Array values = exact(x), squares = values * values;
  const Array mean = over.sum(values) / n;
  return {
      .inputs = {x},
      .call = [=](const Tensors& in) { return var(in[0], over.given, {.correction = correction, .dims = over.dims}); },
      .expected = xt::maximum((over.sum(squares) - n * mean * mean) / divisor, 0.0),
      .dtype = dtype,
      .magnitude = over.sum(squares) / divisor,
      .length = over.length,
      .constant = over.length == 1};
}

Case draw_std(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const Tensor x = draw.distinct(shape, dtype);
  const Reduced over(draw, shape);
  const double n = static_cast<double>(over.length);
  const Array values = exact(x), squares = values * values, mean = over.sum(values) / n;
  const Array expected = xt::sqrt(xt::maximum(over.sum(squares) / n - mean * mean, 0.0));
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return std(in[0], over.given, {.correction = 0, .dims = over.dims}); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = xt::sqrt(over.sum(squares) / n) * 4.0,
          .length = over.length,
          .constant = over.length == 1};
}

Case draw_prod(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape();
  const Tensor x = draw.values(shape, dtype, -1.5, 1.5);
  const Reduced over(draw, shape);
  return {.inputs = {x},
          .call = [over](const Tensors& in) { return prod(in[0], over.given, over.dims); },
          .expected = over.product(exact(x)),
          .dtype = dtype,
          .length = std::max<int64_t>(over.length, 1)};
}

Case draw_nansum(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape();
  const Tensor x = draw.values(shape, dtype);
  const Reduced over(draw, shape);
  const Array values = exact(x), numbers = xt::where(values < -1.0, 0.0, values);
  return {.inputs = {x},
          .call =
              [over](const Tensors& in) {
                return nansum(where(lt(in[0].detach(), -1), scalar(NAN, in[0].dtype()), in[0]), over.given, over.dims);
              },
          .expected = over.sum(numbers),
          .dtype = dtype,
          .magnitude = over.sum(xt::abs(numbers)),
          .length = std::max<int64_t>(over.length, 1)};
}

Case draw_norm(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const double p = draw.one_of({1.0, 2.0, 3.0, 1.5});
  const Tensor x = draw.distinct(shape, dtype);
  const Reduced over(draw, shape);
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return norm(in[0], p, over.given, over.dims); },
          .expected = xt::pow(over.sum(xt::pow(xt::abs(exact(x)), p)), 1 / p),
          .dtype = dtype,
          .length = std::max<int64_t>(over.length, 1)};
}

Case whole_extreme(Draw& draw, Tensor (*f)(const Tensor&, const Axes&, Dims), bool largest) {
  const Shape shape = filled(draw);
  const Tensor x = draw.whole(shape, i64, -9, 9);
  const Reduced over(draw, shape);
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return f(in[0], over.given, over.dims); },
          .expected = over.of(exact(x),
                              [=](const Array& a, auto& axes) -> Array {
                                if (largest) return xt::amax(a, axes);
                                return xt::amin(a, axes);
                              }),
          .dtype = i64,
          .length = 0};
}
Case draw_whole_max(Draw& draw) { return whole_extreme(draw, max, true); }
Case draw_whole_min(Draw& draw) { return whole_extreme(draw, min, false); }

Case draw_logsumexp(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = filled(draw);
  const Tensor x = draw.values(shape, dtype, -9, 9);
  const Reduced over(draw, shape);
  const Array expected = xt::log(over.sum(xt::exp(exact(x))));
  return {.inputs = {x},
          .call = [over](const Tensors& in) { return logsumexp(in[0], over.given, over.dims); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = xt::abs(expected) + 1.0,
          .length = over.length};
}

/// The first of the best; few distinct values, so that there are ties.
template <class Better>
Case arg(Draw& draw, Tensor (*f)(const Tensor&, int64_t, Dims), const Better& better) {
  const DType dtype = draw.one_of({f32, f64, i64, boolean});
  Shape shape = filled(draw);
  if (shape.rank() == 0) shape = {3};
  const Tensor x = draw.whole(shape, dtype, 0, dtype == boolean ? 1 : 4);
  const int64_t axis = draw.axis(shape), front = axis < 0 ? axis + shape.rank() : axis;
  const Dims dims = draw.chance(0.5) ? Dims::keep : Dims::drop;
  const Array values = exact(x);
  Array expected = build(shape.with(front, 1), [&](const Index& index) {
    const std::vector<double> all = line(values, index, front);
    return static_cast<double>(std::max_element(all.begin(), all.end(), better) - all.begin());
  });
  if (dims == Dims::drop) {
    const Shape dropped = shape.removed(front);
    expected.reshape(std::vector<size_t>(dropped.begin(), dropped.end()));
  }
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return f(in[0], axis, dims); },
          .expected = expected,
          .dtype = i64,
          .length = 0};
}
Case draw_argmax(Draw& draw) { return arg(draw, argmax, std::less<>()); }
Case draw_argmin(Draw& draw) { return arg(draw, argmin, std::greater<>()); }

Case truth(Draw& draw, Tensor (*f)(const Tensor&, const Axes&, Dims), bool all) {
  const Shape shape = draw.shape();
  const Tensor x = draw.whole(shape, boolean, 0, 1);
  const Reduced over(draw, shape);
  const Array count = over.sum(exact(x));
  const double needed = all ? static_cast<double>(over.length) : 1;
  return {.inputs = {x},
          .call = [=](const Tensors& in) { return f(in[0], over.given, over.dims); },
          .expected = xt::cast<double>(count >= needed),
          .dtype = boolean,
          .length = 0};
}
Case draw_any(Draw& draw) { return truth(draw, any, false); }
Case draw_all(Draw& draw) { return truth(draw, all, true); }

Case draw_sum_to(Draw& draw) {
  const DType dtype = draw.floating();
  const Shape shape = draw.shape(), part = draw.part_of(shape);
  const Tensor x = draw.values(shape, dtype);
  const Array values = exact(x);
  Array expected = zeros_of(part), magnitude = zeros_of(part);
  for (int64_t i = 0; i < shape.numel(); ++i) {
    const int64_t to = flat(part, broadcast_index(part, shape.unravel(i)));
    expected.data()[to] += values.data()[i];
    magnitude.data()[to] += std::abs(values.data()[i]);
  }
  return {.inputs = {x},
          .call = [part](const Tensors& in) { return sum_to(in[0], part); },
          .expected = expected,
          .dtype = dtype,
          .magnitude = magnitude,
          .length = std::max<int64_t>(1, shape.numel() / std::max<int64_t>(1, part.numel()))};
}

}  // namespace

void add_reductions(std::vector<Property>& all) {
  all.insert(all.end(), {{"sum", "sum", draw_sum},
                         {"mean", "sum", draw_mean},
                         {"max", "max", draw_max},
                         {"min", "min", draw_min},
                         {"var", "var", draw_var},
                         {"std", "var", draw_std},
                         {"prod", "prod", draw_prod},
                         {"nansum", "nansum", draw_nansum},
                         {"norm", "norm", draw_norm},
                         {"max_of_whole_numbers", nullptr, draw_whole_max},
                         {"min_of_whole_numbers", nullptr, draw_whole_min},
                         {"logsumexp", "logsumexp", draw_logsumexp},
                         {"argmax", nullptr, draw_argmax},
                         {"argmin", nullptr, draw_argmin},
                         {"any", nullptr, draw_any},
                         {"all", nullptr, draw_all},
                         {"sum_to", "sum_to", draw_sum_to}});
}

}  // namespace tape::properties
