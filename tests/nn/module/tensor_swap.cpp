#include "nn/module/tensor_swap.h"

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/tape.h"
#include "nn/linear.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape::nn {
namespace {

struct TiedTwice : Layer<TiedTwice> {
  Child<Linear> a{this, "a", 2, 2, LinearOptions{.bias = false}}, b{this, "b", 2, 2, LinearOptions{.bias = false}};
  Buffer shift{this, "shift", ones({2}, f64)};
  TiedTwice() {
    b->weight.tie(a->weight);
    a->to(f64);
  }
  Tensor forward(const Tensor& x) { return b(a(x)) + shift; }
};

TEST(TensorSwap, RunsAModuleWithOtherValues) {
  TiedTwice model;
  const Tensor weight = model.a->weight, shift = model.shift;
  const Tensor two = eye(2, f64) * 2.0, five = full({2}, 5, f64);
  {
    const TensorSwap swap(model, {{weight.ref().get(), two}, {shift.ref().get(), five}});
    EXPECT_TRUE(model.b->weight.is(two));  // both names of the tied tensor
    EXPECT_TRUE(tensors_equal(model(tensor({1, 3}, f64)), tensor({9, 17}, f64)));
  }
  EXPECT_TRUE(model.a->weight.is(weight));
  EXPECT_TRUE(model.b->weight.is(weight));
  EXPECT_TRUE(model.shift.is(shift));
}

TEST(TensorSwap, RestoresTheTensorsAfterAnError) {
  TiedTwice model;
  const Tensor weight = model.a->weight;
  const auto run = [&] {
    const TensorSwap swap(model, {{weight.ref().get(), ones({2, 5}, f64)}});
    return model(ones({1, 2}, f64));
  };
  EXPECT_TAPE_ERROR(run(), ErrorKind::shape, "a: linear: inner sizes differ: x [1, 2] x weight [2, 5] (2 vs 5)");
  EXPECT_TRUE(model.a->weight.is(weight));
}

/// The gradient reaches the tensors that the replacement was computed from, and can be differentiated again:
/// y = s^2 W W x, y'' = 2 W W x.
TEST(TensorSwap, PropagatesDerivativesThroughTheReplacement) {
  TiedTwice model;
  const Tensor weight = model.a->weight.detach();
  const Tensor s = scalar(3, f64).requires_grad_(), x = ones({1, 2}, f64);
  const double once = sum(model(x) - model.shift).item();
  const TensorSwap swap(model, {{model.a->weight.ref().get(), weight * s}});
  const Tensor y = sum(model(x));
  const Tensor first = grad({y}, {s}, {.create_graph = true})[0];
  EXPECT_NEAR(first.item(), 2 * 3 * once, 1e-12);
  EXPECT_NEAR(grad({first}, {s})[0].item(), 2 * once, 1e-12);
}

}  // namespace
}  // namespace tape::nn
