// Dropouts and sums with them that are launched when their results are used, beside the CPU, where they run at once.
#include "autograd/ops/deferred/dropped_sum.h"

#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/memory.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/dropout.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/observer.h"
#include "tests/cuda/deferred/values.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using cuda_device::test_tolerance;

/// A residual of 6 rows, its sublayer's result, and a norm's parameters on a device.
struct Residual {
  Tensor x, y, weight, bias;
  double p = 0.4;
  uint64_t counter = 8;

  Residual(DType dtype, Device device, int64_t width = 24)
      : x(values_of({6, width}, 1, dtype, device)),
        y(values_of({6, width}, 2, dtype, device)),
        weight(values_of({width}, 3, dtype == f64 ? f64 : f32, device)),
        bias(values_of({width}, 4, dtype == f64 ? f64 : f32, device)) {}

  Tensor dropped() const { return seeded_dropout(y, p, 7, counter); }
  Tensor sum() const { return x + dropped(); }
  Tensor normed(const Tensor& of, bool rms = false) const {
    return rms ? rms_norm(of, weight, 1e-5) : layer_norm(of, weight, bias, 1e-5);
  }
};

class CudaDroppedSum : public DeferredCallTest {
 protected:
  static void read(const Tensor& x) { static_cast<void>(x.device_raw()); }
};

TEST_F(CudaDroppedSum, IsOneLaunch) {
  for (const DType dtype : {f32, f64, bf16}) {
    const Residual here(dtype, cpu), there(dtype, cuda);
    Tensor left, right;
    EXPECT_EQ(launches_of([&] { left = there.x + there.dropped(), right = there.dropped() + there.x; }), 0);
    EXPECT_EQ(launches_of([&] { read(left), read(right); }), 2);
    expect_same(left, here.sum(), 2);
    expect_same(right, here.sum(), 2);
  }
}

TEST_F(CudaDroppedSum, IsComputedByItsNorm) {
  for (const DType dtype : {f32, f64, bf16})
    for (const bool rms : {false, true})
      for (const bool fits : {true, false}) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ", rms " << rms << ", fits " << fits);
        // The kernel for both needs whole blocks of random numbers.
        Residual here(dtype, cpu), there(dtype, cuda);
        if (!fits) here.counter = there.counter = 9;
        Tensor sum, y;
        EXPECT_EQ(launches_of([&] { sum = there.sum(), y = there.normed(sum, rms); }), fits ? 1 : 2);
        EXPECT_EQ(launches_of([&] { read(sum); }), 0);
        expect_same(sum, here.sum(), 2);
        expect_same(y, here.normed(here.sum(), rms), 2);
      }
}

TEST_F(CudaDroppedSum, TakesNoMemoryUntilItIsLaunched) {
  const Residual r(f32, cuda);
  const int64_t before = memory_stats(cuda).live_bytes;
  const Tensor sum = r.sum();
  EXPECT_EQ(memory_stats(cuda).live_bytes, before);
  read(sum);
  const int64_t of_one = memory_stats(cuda).live_bytes - before;
  EXPECT_GT(of_one, 0);
  EXPECT_EQ(launches_of([&] { r.sum(), r.dropped(); }), 0) << "nothing reads them";
  EXPECT_EQ(memory_stats(cuda).live_bytes, before + of_one);
}

TEST_F(CudaDroppedSum, ReadsOperandsAsTheyWere) {
  const Residual here(f32, cpu);
  const std::vector<std::function<void(Residual&)>> changes = {[](Residual& r) { r.x.zero_(); },
                                                               [](Residual& r) { r.y.add_(1); },
                                                               [](Residual& r) { select(r.y, 0, 2).mul_(3); },
                                                               [](Residual& r) {  // its memory is not given to others
                                                                 r.x = r.y = Tensor();
                                                                 for (int i = 0; i < 8; ++i) ones({6, 24}, {f32, cuda});
                                                               }};
  for (const auto& change : changes) {
    Residual there(f32, cuda);
    const Tensor dropped = there.dropped(), sum = there.sum();
    change(there);
    expect_same(sum, here.sum());
    expect_same(dropped, here.dropped());
  }
}

TEST_F(CudaDroppedSum, CanBeReadAndChangedInAnyOrder) {
  const Residual here(f32, cpu), there(f32, cuda);
  Tensor dropped = there.dropped(), sum = there.x + dropped;
  expect_same(dropped, here.dropped());
  expect_same(sum, here.sum());
  expect_same(there.dropped() + there.dropped(), here.dropped() * 2);
  dropped = there.dropped();
  expect_same(dropped + dropped, here.dropped() * 2);
  sum = there.sum();
  sum.mul_(2);
  expect_same(sum, here.sum() * 2);
  sum = there.sum();
  expect_same(layer_norm(reshape(sum, {12, 12}), {}, {}, 1e-5),
              layer_norm(reshape(here.sum(), {12, 12}), {}, {}, 1e-5));
  expect_same(sum, here.sum());
  expect_same(there.dropped() + there.weight, here.dropped() + here.weight);
  expect_same(slice(there.dropped(), 0, {.start = 2}) + slice(there.x, 0, {.start = 2}),
              slice(here.sum(), 0, {.start = 2}));
  // Of operands that are deferred themselves.
  const Tensor w = values_of({24, 24}, 5, f32, cuda);
  expect_same(linear(there.x, w) + seeded_dropout(linear(there.y, w), 0.4, 7, 8),
              linear(here.x, w.to(cpu)) + seeded_dropout(linear(here.y, w.to(cpu)), 0.4, 7, 8));
}

TEST_F(CudaDroppedSum, RunsAtOnceForObservers) {
  const Residual r(f32, cuda);
  const Observer observer;
  Tensor sum, y;
  EXPECT_EQ(launches_of([&] { sum = r.sum(); }), 2);
  EXPECT_EQ(launches_of([&] { y = r.normed(sum); }), 1);
}

/// The gradients of a norm of the sum, to which `use` adds others.
template <class Use>
Tensors gradients_of(Residual& r, bool rms, const Use& use) {
  for (Tensor* const leaf : {&r.x, &r.y, &r.weight, &r.bias}) leaf->requires_grad_();
  const Tensor sum = r.sum(), y = r.normed(sum, rms);
  tape::sum(square(use(sum, y)).to(f32)).backward();
  Tensors gradients{r.x.grad(), r.y.grad(), r.weight.grad()};
  if (!rms) gradients.push_back(r.bias.grad());
  return gradients;
}

TEST_F(CudaDroppedSum, HasTheGradientsOfTheCpu) {
  // The sum is used by its norm alone, as after a layer of the paper, after it, as before a layer, and before it.
  const std::vector<std::function<Tensor(const Tensor& sum, const Tensor& y)>> uses = {
      [](const Tensor&, const Tensor& y) { return y; }, [](const Tensor& sum, const Tensor& y) { return sum + y * 2; },
      [](const Tensor& sum, const Tensor& y) { return y * (sum * sum) + sum; }};
  for (const DType dtype : {f32, f64, bf16})
    for (const bool rms : {false, true})
      for (size_t use = 0; use < uses.size(); ++use) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ", rms " << rms << ", use " << use);
        Residual here(dtype == bf16 ? f32 : dtype, cpu), there(dtype, cuda);
        if (dtype == bf16) here.x = there.x.to(cpu).to(f32), here.y = there.y.to(cpu).to(f32);
        const Tensors expected = gradients_of(here, rms, uses[use]), actual = gradients_of(there, rms, uses[use]);
        for (size_t i = 0; i < expected.size(); ++i) {
          const double largest = max(abs(expected[i])).item();
          const double unit = dtype == bf16 ? 0.03 : dtype == f32 ? test_tolerance(2e-6) : 1e-13;
          EXPECT_TRUE(allclose(actual[i].to(cpu).to(f64), expected[i].to(f64), {.rtol = 0, .atol = unit * largest}))
              << "gradient " << i;
        }
      }
}

TEST_F(CudaDroppedSum, DropsItsGradientOnTheWay) {
  const auto launches_of_backward = [&](const auto& change) {
    Residual r(f32, cuda);
    r.x.requires_grad_(), r.y.requires_grad_();
    const Tensor sum = r.sum(), y = tape::sum(r.normed(sum));
    change(sum);
    const int64_t launches = launches_of([&] { y.backward(), read(r.y.grad()); });
    const Residual here(f32, cpu);
    const Tensor expected = seeded_dropout(r.x.grad().to(cpu), here.p, 7, here.counter);
    EXPECT_TRUE(tensors_equal(r.y.grad().to(cpu), expected));
    return launches;
  };
  const int64_t on_the_way = launches_of_backward([](Tensor) {});
  // A hook replaces the gradient, which is then dropped by a launch of its own.
  const int64_t apart =
      launches_of_backward([](Tensor sum) { sum.register_hook([](const Tensor& g) { return g * 2; }); });
  EXPECT_EQ(apart, on_the_way + 2);
}

TEST_F(CudaDroppedSum, HasTheGradientsOfSeveralDropouts) {
  // The gradient of the sum is that of both, of which the norm drops one on the way: that of the first or the second.
  for (const bool first : {true, false})
    for (const double p : {0.4, 0.2}) {
      const auto gradients_of_place = [&](Device place) {
        Residual r(f32, place);
        Tensor z = values_of({6, 24}, 5, f32, place);
        r.y.requires_grad_(), z.requires_grad_();
        const Tensor one = r.dropped(), other = seeded_dropout(z, p, 7, r.counter);
        tape::sum(square(r.normed(first ? other + one : one + other))).backward();
        return Tensors{r.y.grad(), z.grad()};
      };
      const Tensors expected = gradients_of_place(cpu), actual = gradients_of_place(cuda);
      expect_same(actual[0], expected[0]);
      expect_same(actual[1], expected[1]);
    }
}

TEST_F(CudaDroppedSum, DropsAGradientThatChangedAgain) {
  Residual r(f32, cuda);
  r.x.requires_grad_(), r.y.requires_grad_();
  Tensor sum = r.sum();
  const Tensor loss = tape::sum(r.normed(sum));
  sum.register_hook([](const Tensor& gradient) {
    Tensor changed = gradient;
    changed.mul_(3);
    return changed;
  });
  loss.backward();
  EXPECT_TRUE(tensors_equal(r.y.grad().to(cpu), seeded_dropout(r.x.grad().to(cpu), r.p, 7, r.counter)));
}

TEST_F(CudaDroppedSum, GradientsOfGradientsAreThoseOfTheCpu) {
  const auto second_of = [](Device place) {
    Residual r(f64, place);
    r.x.requires_grad_(), r.y.requires_grad_();
    const Tensor first = grad(tape::sum(square(r.normed(r.sum()))), r.y, {.create_graph = true});
    return grad(tape::sum(square(first)), r.x);
  };
  expect_same(second_of(cuda), second_of(cpu));
}

TEST_F(CudaDroppedSum, RecordsTheDropoutOfAGradientThatHasOne) {
  Residual r(f64, cuda);
  r.x.requires_grad_(), r.y.requires_grad_();
  const Tensor sum = r.sum();
  Tensor gradient = grad(tape::sum(r.normed(sum)), sum);  // with its dropout
  gradient.requires_grad_();
  const Tensor dropped = grad(r.dropped(), r.y, {.gradients = {gradient}, .create_graph = true});
  expect_same(grad(tape::sum(dropped), gradient), seeded_dropout(ones({6, 24}, {f64, cpu}), r.p, 7, r.counter));
}

TEST_F(CudaDroppedSum, ActivationsTakeADroppedGradient) {
  for (const DType dtype : {f32, f64, bf16})
    for (const auto activation : {relu, gelu, gelu_tanh, silu}) {
      const auto gradient_of = [&](Device place) {
        Tensor x = values_of({6, 24}, 1, dtype, place);
        x.requires_grad_();
        const Tensor y = seeded_dropout(activation(x), 0.4, 7, 8), dy = values_of({6, 24}, 2, dtype, place);
        read(y);
        EXPECT_EQ(launches_of([&] { backward({y}, {dy}), read(x.grad()); }), place.is_cuda() ? 1 : 0);
        return x.grad();
      };
      expect_same(gradient_of(cuda), gradient_of(cpu));
    }
}

}  // namespace
}  // namespace tape
