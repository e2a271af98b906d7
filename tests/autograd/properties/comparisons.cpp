// Comparisons and selections: every dtype, with ties.

#include <xtensor/xmath.hpp>
#include <xtensor/xoperation.hpp>

#include "autograd/ops/elementwise/compare.h"
#include "tests/autograd/properties/property.h"

namespace tape::properties {
namespace {

Tensor few_values(Draw& draw, const Shape& shape, DType dtype) {
  return dtype == boolean ? draw.whole(shape, dtype, 0, 1) : draw.whole(shape, dtype, -2, 2);
}

template <class F, class Oracle>
Case comparison(Draw& draw, const F& f, const Oracle& oracle,
                std::initializer_list<DType> dtypes = {f32, f64, i64, boolean}) {
  const DType dtype = draw.one_of(dtypes);
  const Shape whole = draw.shape();
  const Tensor a = few_values(draw, whole, dtype), b = few_values(draw, draw.part_of(whole), dtype);
  const bool swapped = draw.chance(0.5), aliased = draw.chance(0.1);
  const Tensor first = swapped ? b : a, second = aliased ? first : swapped ? a : b;
  const Array x = exact(first), y = exact(second);
  return {.inputs = {first, second},
          .call = [f](const Tensors& in) { return f(in[0], in[1]); },
          .expected = xt::cast<double>(oracle(x, y)),
          .dtype = boolean,
          .length = 0};
}

Case draw_eq(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return eq(a, b); }, [](auto& a, auto& b) { return xt::equal(a, b); });
}
Case draw_ne(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return ne(a, b); }, [](auto& a, auto& b) { return xt::not_equal(a, b); });
}
Case draw_lt(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return lt(a, b); }, [](auto& a, auto& b) { return a < b; });
}
Case draw_le(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return le(a, b); }, [](auto& a, auto& b) { return a <= b; });
}
Case draw_gt(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return gt(a, b); }, [](auto& a, auto& b) { return a > b; });
}
Case draw_ge(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return ge(a, b); }, [](auto& a, auto& b) { return a >= b; });
}
Case draw_logical_and(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return logical_and(a, b); },
      [](auto& a, auto& b) { return xt::cast<bool>(a) && xt::cast<bool>(b); }, {boolean});
}
Case draw_logical_or(Draw& draw) {
  return comparison(
      draw, [](auto& a, auto& b) { return logical_or(a, b); },
      [](auto& a, auto& b) { return xt::cast<bool>(a) || xt::cast<bool>(b); }, {boolean});
}
Case draw_logical_not(Draw& draw) {
  const Tensor x = draw.whole(draw.shape(), boolean, 0, 1);
  return {.inputs = {x},
          .call = [](const Tensors& in) { return logical_not(in[0]); },
          .expected = 1.0 - exact(x),
          .dtype = boolean,
          .length = 0};
}

Case draw_where(Draw& draw) {
  const DType dtype = draw.one_of({f32, f32, f64, i64, boolean});
  const Shape whole = draw.shape();
  const Tensor condition = draw.whole(draw.part_of(whole), boolean, 0, 1);
  const Tensor a = few_values(draw, draw.part_of(whole), dtype), b = few_values(draw, whole, dtype);
  const Array c = exact(condition), x = exact(a), y = exact(b);
  return {.inputs = {a, b},
          .call = [condition](const Tensors& in) { return where(condition, in[0], in[1]); },
          .expected = xt::where(xt::not_equal(c, 0.0), x, y),
          .dtype = dtype,
          .length = 0};
}
Case draw_masked_fill(Draw& draw) {
  const DType dtype = draw.one_of({f32, f64, i64});
  const Shape whole = draw.shape();
  const Tensor mask = draw.whole(draw.part_of(whole), boolean, 0, 1), x = few_values(draw, whole, dtype);
  const Array hidden = exact(mask), values = exact(x);
  return {.inputs = {x},
          .call = [mask](const Tensors& in) { return masked_fill(in[0], mask, -7); },
          .expected = xt::where(xt::not_equal(hidden, 0.0), -7.0, values),
          .dtype = dtype,
          .length = 0};
}

}  // namespace

void add_comparisons(std::vector<Property>& all) {
  all.insert(all.end(), {{"eq", nullptr, draw_eq},
                         {"ne", nullptr, draw_ne},
                         {"lt", nullptr, draw_lt},
                         {"le", nullptr, draw_le},
                         {"gt", nullptr, draw_gt},
                         {"ge", nullptr, draw_ge},
                         {"logical_and", nullptr, draw_logical_and},
                         {"logical_or", nullptr, draw_logical_or},
                         {"logical_not", nullptr, draw_logical_not},
                         {"where", "where", draw_where},
                         {"masked_fill", "where", draw_masked_fill}});
}

}  // namespace tape::properties
