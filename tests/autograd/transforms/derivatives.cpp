// Jacobian-vector and Hessian-vector products of every registered operation.

#include "autograd/transforms/derivatives.h"

#include <cctype>
#include <cmath>
#include <string_view>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

Tensors directions_for(const Tensors& inputs, uint64_t seed) {
  Tensors directions;
  for (const Tensor& input : inputs) directions.push_back(sample_normal(input.shape(), seed++));
  return directions;
}

/// x + step * t of every input.
Tensors moved(const Tensors& inputs, const Tensors& tangents, double step) {
  Tensors result;
  for (size_t i = 0; i < inputs.size(); ++i) result.push_back(inputs[i].clone().add_(tangents[i], step));
  return result;
}

double dot(const Tensor& a, const Tensor& b) { return sum(a * b).item(); }

class Products : public testing::TestWithParam<const Op*> {};

TEST_P(Products, ForwardModeAgreesWithFiniteDifferences) {
  for (const OpSample& sample : GetParam()->samples()) {
    const Tensors tangents = directions_for(sample.inputs, 31);
    const Jvp result = jvp(sample.call, sample.inputs, tangents);
    EXPECT_TRUE(tensors_equal(result.value, sample.call(sample.inputs).detach())) << sample.label;
    const double step = sample.step > 0 ? sample.step : 1e-6;
    const Tensor above = sample.call(moved(sample.inputs, tangents, step)).detach(),
                 below = sample.call(moved(sample.inputs, tangents, -step)).detach();
    EXPECT_TRUE(tensors_near(result.tangent, (above - below) * (0.5 / step), 1e-6)) << sample.label;
  }
}

/// <w, J t> = <J^T w, t>: forward and backward mode compute the same derivative.
TEST_P(Products, ForwardModeIsTheTransposeOfBackwardMode) {
  for (const OpSample& sample : GetParam()->samples()) {
    const Tensors tangents = directions_for(sample.inputs, 31);
    const Jvp result = jvp(sample.call, sample.inputs, tangents);
    Tensors leaves;
    for (const Tensor& input : sample.inputs) leaves.push_back(input.detach().clone().requires_grad_());
    const Tensor y = sample.call(leaves), w = sample_normal(y.shape(), 53);
    const Tensors gradients = grad({y}, leaves, {.gradients = {w}, .allow_unused = true});
    double backward = 0, size = 1e-3;
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!gradients[i].defined()) continue;
      backward += dot(gradients[i], tangents[i]);
      size += sum(abs(gradients[i] * tangents[i])).item();
    }
    const double rounding = std::string_view(GetParam()->name()) == "cast" ? 1e-7 : 1e-12;  // it goes through f32
    EXPECT_NEAR(dot(result.tangent, w), backward, rounding * size) << sample.label;
  }
}

TEST_P(Products, HessianProductAgreesWithDifferencesOfGradients) {
  for (const OpSample& sample : GetParam()->samples()) {
    const Tensor probe = sample.call(sample.inputs);
    if (probe.numel() == 0) continue;
    const Tensor w = sample_normal(probe.shape(), 53);
    const auto f = [&](const Tensors& in) { return sum(square(sample.call(in)) * w); };
    const Tensors v = directions_for(sample.inputs, 31);
    const Hvp result = hvp(f, sample.inputs, v);
    const double step = sample.step > 0 ? sample.step : 1e-6;
    const auto gradients_at = [&](double by) {
      Tensors leaves = moved(sample.inputs, v, by);
      for (Tensor& leaf : leaves) leaf.requires_grad_();
      Tensors gradients = grad({f(leaves)}, leaves, {.allow_unused = true});
      for (size_t i = 0; i < leaves.size(); ++i)
        if (!gradients[i].defined()) gradients[i] = zeros_like(leaves[i]);
      return gradients;
    };
    const Tensors here = gradients_at(0), above = gradients_at(step), below = gradients_at(-step);
    for (size_t i = 0; i < v.size(); ++i) {
      EXPECT_TRUE(tensors_near(result.gradient[i], here[i], 1e-10)) << sample.label << ", input " << i;
      EXPECT_TRUE(tensors_near(result.product[i], (above[i] - below[i]) * (0.5 / step), 2e-6))
          << sample.label << ", input " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, Products, testing::ValuesIn(registered_ops()), [](const auto& op) {
  std::string name = op.param->name();
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST(Jvp, MatchesAKnownFunction) {
  // f = (x y, x + y) at x = 3, y = 5 along (1, 10): (5 + 30, 11)
  const auto f = [](const Tensors& in) { return stack({in[0] * in[1], in[0] + in[1]}); };
  const Jvp result = jvp(f, {scalar(3, f64), scalar(5, f64)}, {scalar(1, f64), scalar(10, f64)});
  EXPECT_TRUE(tensors_equal(result.value, tensor({15, 8}, f64)));
  EXPECT_TRUE(tensors_equal(result.tangent, tensor({35, 11}, f64)));
  EXPECT_FALSE(result.value.requires_grad());
  EXPECT_FALSE(result.tangent.requires_grad());
}

TEST(Jvp, AcceptsInputsWithoutTangents) {
  const Tensor table = sample_normal({4, 3}), ids = tensor({2, 0}, i64);
  const auto f = [](const Tensors& in) { return embedding(in[0], in[1]) * in[2]; };
  const Tensor scale = sample_normal({3}, 2), t = sample_normal({4, 3}, 3);
  const Jvp result = jvp(f, {table, ids, scale}, {t, Tensor(), Tensor()});
  EXPECT_TRUE(tensors_near(result.tangent, index_select(t, 0, ids) * scale, 1e-15));
  // The output does not depend on the input that has a tangent.
  EXPECT_TRUE(tensors_equal(jvp([&](const Tensors&) { return scale; }, {table}, {t}).tangent, zeros({3}, f64)));
  EXPECT_TRUE(
      tensors_equal(jvp([](const Tensors& in) { return in[0] * 2; }, {table}, {Tensor()}).tangent, zeros({4, 3}, f64)));
  const NoGrad no_grad;
  EXPECT_TRUE(tensors_equal(jvp([](const Tensors& in) { return in[0] * 2; }, {table}, {t}).tangent, t * 2));
}

TEST(Jvp, RefusesMismatchedTangents) {
  const auto f = [](const Tensors& in) { return in[0] * 2; };
  const Tensor x = zeros({2, 3}, f64);
  EXPECT_TAPE_ERROR(jvp(f, {x}, {}), ErrorKind::shape, "jvp: 0 tangents for 1 inputs");
  EXPECT_TAPE_ERROR(jvp(f, {x}, {zeros({3}, f64)}), ErrorKind::shape,
                    "jvp: tangent 0 is f64 [3], the input is f64 [2, 3]");
  EXPECT_TAPE_ERROR(jvp(f, {x}, {zeros({2, 3})}), ErrorKind::shape,
                    "jvp: tangent 0 is f32 [2, 3], the input is f64 [2, 3]");
  EXPECT_TAPE_ERROR(jvp(f, {zeros({2}, i64)}, {zeros({2}, i64)}), ErrorKind::dtype,
                    "jvp: input 0 has no gradient, so its tangent must be undefined");
  EXPECT_TAPE_ERROR(jvp([](const Tensors& in) { return argmax(in[0], 0); }, {x}, {x}), ErrorKind::dtype,
                    "jvp: the function returned i64");
}

TEST(Vjp, MatchesAKnownFunction) {
  // f = (x y, x + y) at x = 3, y = 5 weighted with (2, 7): df/dx = 2 * 5 + 7, df/dy = 2 * 3 + 7
  const auto f = [](const Tensors& in) { return stack({in[0] * in[1], in[0] + in[1]}); };
  const Tensor ids = tensor({1}, i64);
  const Vjp result = vjp(f, {scalar(3, f64), scalar(5, f64), ids, scalar(1, f64)}, tensor({2, 7}, f64));
  EXPECT_TRUE(tensors_equal(result.value, tensor({15, 8}, f64)));
  EXPECT_EQ(result.gradients[0].item(), 17);
  EXPECT_EQ(result.gradients[1].item(), 13);
  EXPECT_FALSE(result.gradients[2].defined());
  EXPECT_EQ(result.gradients[3].item(), 0) << "the output does not depend on it";
  EXPECT_FALSE(result.value.requires_grad() || result.gradients[0].requires_grad());
  EXPECT_EQ(vjp([](const Tensors& in) { return square(in[0]); }, {scalar(3, f64)}).gradients[0].item(), 6);
}

TEST(Vjp, RefusesMismatchedCotangents) {
  const auto f = [](const Tensors& in) { return in[0] * 2; };
  const Tensor x = zeros({2}, f64);
  EXPECT_TAPE_ERROR(vjp(f, {x}), ErrorKind::graph, "vjp: the function returned f64 [2], v is missing");
  EXPECT_TAPE_ERROR(vjp(f, {x}, zeros({3}, f64)), ErrorKind::shape, "vjp: the function returned f64 [2], v is f64 [3]");
  EXPECT_TAPE_ERROR(vjp(f, {x}, zeros({2})), ErrorKind::shape, "vjp: the function returned f64 [2], v is f32 [2]");
  EXPECT_TAPE_ERROR(vjp([](const Tensors& in) { return argmax(in[0], 0); }, {x}), ErrorKind::dtype,
                    "vjp: the function returned i64");
}

TEST(GradOf, ComposesAnyNumberOfTimes) {
  std::function<Tensor(const Tensors&)> f = [](const Tensors& in) { return sum(sin(in[0])); };
  const double x = 0.5, derivatives[] = {std::cos(x), -std::sin(x), -std::cos(x), std::sin(x), std::cos(x)};
  for (const double wanted : derivatives) {
    f = grad_of(f);
    const Tensor found = f({scalar(x, f64)});
    EXPECT_NEAR(found.item(), wanted, 1e-14);
    EXPECT_FALSE(found.requires_grad());
  }
}

TEST(GradOf, IsDifferentiableWithRespectToEveryInput) {
  // f = x^2 y^3: d/dx = 2 x y^3, d/dy of that = 6 x y^2, d/dx of it = 2 y^3
  const auto slope = grad_of([](const Tensors& in) { return in[0] * in[0] * in[1] * in[1] * in[1]; });
  const Tensor x = scalar(3, f64).requires_grad_(), y = scalar(2, f64).requires_grad_();
  const Tensor found = slope({x, y});
  EXPECT_EQ(found.item(), 48);
  const Tensors second = grad({found}, {x, y});
  EXPECT_EQ(second[0].item(), 16);
  EXPECT_EQ(second[1].item(), 72);
  EXPECT_EQ(grad_of(slope, 1)({scalar(3, f64), scalar(2, f64)}).item(), 72);
  EXPECT_EQ(slope({x, x}).item(), 2 * 3 * 27) << "a repeated tensor: only the first argument counts";
}

TEST(GradOf, IsZeroIfTheResultDoesNotDependOnTheArgument) {
  const auto f = [](const Tensors& in) { return sum(in[1]); };
  EXPECT_TRUE(tensors_equal(grad_of(f)({ones({2, 3}), ones({2})}), zeros({2, 3})));
  EXPECT_TRUE(tensors_equal(grad_of([](const Tensors&) { return scalar(1); })({ones({2})}), zeros({2})));
}

TEST(GradOf, RefusesFunctionsAndArgumentsWithoutGradient) {
  const auto f = [](const Tensors& in) { return in[0] * 2; };
  EXPECT_TAPE_ERROR(grad_of(f)({ones({2})}), ErrorKind::graph,
                    "grad_of: the function returned [2]; it must return a single value");
  EXPECT_TAPE_ERROR(grad_of(f, 1)({ones({2})}), ErrorKind::index, "grad_of: argument 1 is outside [0, 1)");
  EXPECT_TAPE_ERROR(grad_of(f)({tensor({1}, i64)}), ErrorKind::dtype,
                    "grad_of: argument 0 is i64, which has no gradient");
  EXPECT_TAPE_ERROR(grad_of(f)({Tensor()}), ErrorKind::dtype,
                    "grad_of: argument 0 is undefined, which has no gradient");
}

TEST(Hvp, MatchesAQuadraticForm) {
  const Tensor a = tensor({{2, 1}, {0, 3}}, f64), v = tensor({1, -1}, f64), x = tensor({0.5, 2}, f64);
  const auto f = [&](const Tensors& in) { return sum(in[0] * matmul(a, in[0])); };
  const Hvp result = hvp(f, {x}, {v});
  const Tensor hessian = a + transpose(a);
  EXPECT_TRUE(tensors_near(result.product[0], matmul(hessian, v), 1e-15));
  EXPECT_TRUE(tensors_near(result.gradient[0], matmul(hessian, x), 1e-15));
  EXPECT_NEAR(result.value.item(), sum(x * matmul(a, x)).item(), 1e-15);
}

TEST(Hvp, SupportsARecordedLoss) {
  Tensor w = sample_normal({3, 2}), other = sample_normal({2}, 2), unused = sample_normal({4}, 3);
  for (Tensor* leaf : {&w, &other, &unused}) leaf->requires_grad_();
  const Tensor loss = sum(square(tanh(matmul(sample_normal({5, 3}, 4), w) + other)));
  const Tensor v = sample_normal({3, 2}, 5);
  const Hvp result = hvp(loss, {w, other, unused}, {v, Tensor(), Tensor()});
  EXPECT_TRUE(tensors_equal(result.product[2], zeros({4}, f64)));
  const Tensors first = grad({loss}, {w, other}, {.create_graph = true});
  const Tensors second = grad({sum(first[0] * v)}, {w, other});
  EXPECT_TRUE(tensors_near(result.product[0], second[0], 1e-14));
  EXPECT_TRUE(tensors_near(result.product[1], second[1], 1e-14));
  EXPECT_FALSE(w.grad().defined());
}

TEST(Hvp, RefusesMismatchedDirectionsAndNonScalarLosses) {
  const Tensor x = zeros({2}, f64);
  const auto f = [](const Tensors& in) { return in[0] * in[0]; };
  EXPECT_TAPE_ERROR(hvp(f, {x}, {zeros({3}, f64)}), ErrorKind::shape,
                    "hvp: direction 0 is f64 [3], the input is f64 [2]");
  EXPECT_TAPE_ERROR(hvp(f, {x}, {x}), ErrorKind::graph,
                    "grad: the output is [2]; only a single element can start without a seed: pass a gradient of that "
                    "shape");
  EXPECT_TAPE_ERROR(hvp([&](const Tensors&) { return sum(x); }, {x}, {x}), ErrorKind::graph,
                    "grad: the output [] has no graph: nothing it was computed from requires gradients");
}

}  // namespace
}  // namespace tape
