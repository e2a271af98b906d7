// Operations that add their gradients to those of others in place (BackwardContext::grad_sum()), beside the CPU, which
// adds them up.
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/index/index.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/random.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/tape.h"
#include "tests/cuda/test_device.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using cuda_device::test_tolerance, cuda_device::TestDevice;

/// Keeps the first gradient that each operation of a name returns, the last operation first.
class Results : public Observer {
 public:
  Results(std::string name, bool each) : name_(std::move(name)), each_(each) {}
  std::vector<std::vector<double>> values;

 private:
  void on_backward_done(const Node& node, const Tensors&, const Tensors& results) override {
    if (node.name() == name_) values.push_back(results[0].to(f64).to_vector<double>());
  }
  bool needs_each_gradient() override { return each_; }

  const std::string name_;
  const bool each_;
};

Tensor values_of(const Shape& shape, uint64_t seed, Device device) {
  Generator stream(seed);
  return randn(shape, {f32, cpu}, stream).to(device);
}

/// Parameters on a device.
struct Leaves {
  Tensor x, w1, w2, scale;

  explicit Leaves(Device device)
      : x(values_of({5, 8}, 1, device)),
        w1(values_of({8, 8}, 2, device)),
        w2(values_of({8, 8}, 3, device)),
        scale(values_of({8}, 4, device)) {
    for (Tensor* leaf : {&x, &w1, &w2, &scale}) leaf->requires_grad_();
  }
};

/// Runs the same on the CPU and on the device, and compares the gradients of all leaves.
void expect_gradients_of_the_cpu(const std::function<void(Leaves&)>& run) {
  Leaves here(cpu), there(cuda);
  run(here);
  run(there);
  const auto expect_same = [](const char* name, const Tensor& a, const Tensor& b) {
    SCOPED_TRACE(name);
    ASSERT_EQ(a.grad().defined(), b.grad().defined());
    if (!a.grad().defined()) return;
    const double largest = max(abs(a.grad())).item();
    EXPECT_TRUE(allclose(b.grad().to(cpu), a.grad(), {.rtol = 0, .atol = test_tolerance(1e-5) * largest}));
  };
  expect_same("x", here.x, there.x);
  expect_same("w1", here.w1, there.w1);
  expect_same("w2", here.w2, there.w2);
  expect_same("scale", here.scale, there.scale);
}

/// A residual step with a norm, as in a Transformer.
Tensor residual_step(const Leaves& l, const Tensor& x) {
  const Tensor n = layer_norm(x, l.scale);
  return x + linear(n, l.w1) * linear(n, l.w2);
}

TEST(CudaGradientSums, AreTheSumsOfTheCpu) {
  const TestDevice device;
  expect_gradients_of_the_cpu([](Leaves& l) { sum(square(residual_step(l, residual_step(l, l.x)))).backward(); });
  expect_gradients_of_the_cpu([](Leaves& l) {
    const Tensor n = rms_norm(l.x, l.scale);
    sum(square(n + linear(n, l.w1) + linear(l.x, l.w1))).backward();
  });
}

TEST(CudaGradientSums, AreReturnedByTheOperationThatAdds) {
  const TestDevice device;
  const auto results_of = [](bool each) {
    const Leaves l(cuda);
    const Tensor n = l.x * 2;
    const Tensor y = sum(linear(n, l.w1)) + sum(linear(n, l.w2));
    Results results("linear", each);
    y.backward();
    return results.values;
  };
  const auto each = results_of(true), sums = results_of(false);
  ASSERT_EQ(each.size(), 2u);
  ASSERT_EQ(sums.size(), 2u);
  EXPECT_EQ(sums[0], each[0]);
  for (size_t i = 0; i < each[0].size(); ++i)
    EXPECT_NEAR(sums[1][i], each[0][i] + each[1][i], test_tolerance(1e-5) * (1 + std::abs(sums[1][i])));
}

TEST(CudaGradientSums, CountGradientsThatAreOneTensor) {
  const TestDevice device;
  expect_gradients_of_the_cpu([](Leaves& l) {
    const Tensor n = l.x * 2;
    sum(square(n + n + n) + linear(n + n, l.w1)).backward();
    sum(l.x + l.x + linear(l.x + l.x, l.w2)).backward();
  });
}

TEST(CudaGradientSums, LeaveGradientsAloneThatOthersRead) {
  const TestDevice device;
  // The sum gives both of its operands one gradient, which the first linear layer to run must not change.
  expect_gradients_of_the_cpu([](Leaves& l) {
    const Tensor a = l.x * 2, b = l.x * 3;
    const Tensor of_a = linear(a, l.w1), of_b = linear(b, l.w2);
    sum(of_a + of_b + square(a + b)).backward();
  });
  // A gradient that the program has given, and one that it keeps.
  const Leaves given(cuda);
  const Tensor doubled = given.x * 2, seed = ones({5, 8}, {f32, cuda});
  backward({doubled, linear(doubled, given.w1)}, {seed, seed});
  EXPECT_EQ(sum(seed).item(), 40);
  expect_gradients_of_the_cpu([](Leaves& l) {
    Tensor n = l.x * 2;
    n.retain_grad();
    const Tensor y = linear(n, l.w1) + linear(n, l.w2);
    sum(square(y)).backward({.retain_graph = true});
    const double once = sum(square(n.grad())).item();
    sum(square(y)).backward();
    EXPECT_NEAR(sum(square(n.grad())).item(), 4 * once, 4e-5 * once) << "the second is added to the first";
  });
}

TEST(CudaGradientSums, ContinueInTheGradientsOfLeaves) {
  const TestDevice device;
  // Two passes, in the second of which a weight is used twice.
  expect_gradients_of_the_cpu([](Leaves& l) {
    sum(square(linear(l.x, l.w1))).backward();
    sum(square(linear(linear(l.x, l.w1), l.w1))).backward();
    sum(square(linear(l.x * 2, l.w1) + matmul(l.x, l.w1))).backward();
  });
  Leaves l(cuda);
  sum(linear(l.x, l.w1)).backward();
  const Tensor gradient = l.w1.grad();
  const double once = sum(gradient).item();
  const int64_t launches = device.launches();
  sum(linear(l.x, l.w1)).backward();
  EXPECT_NEAR(sum(gradient).item(), 2 * once, 1e-4 * std::abs(once));
  // The forward's and the backward's product are no launches of kernels, and nothing adds gradients up.
  EXPECT_LE(device.launches() - launches, 8);
}

TEST(CudaGradientSums, AreOfOnePassForHooksAndForGrad) {
  const TestDevice device;
  Leaves l(cuda);
  const auto loss = [&] { return sum(linear(l.x, l.w1)); };
  loss().backward();
  const double once = sum(l.w1.grad()).item();
  EXPECT_NEAR(sum(grad(loss(), l.w1)).item(), once, 1e-4);
  EXPECT_NEAR(sum(l.w1.grad()).item(), once, 1e-4);
  double seen = 0;
  l.w1.register_hook([&](const Tensor& gradient) {
    seen = sum(gradient).item();
    return Tensor();
  });
  loss().backward();
  EXPECT_NEAR(seen, once, 1e-4);
  EXPECT_NEAR(sum(l.w1.grad()).item(), 2 * once, 1e-4 * std::abs(once));
}

TEST(CudaGradientSums, AreDifferentiable) {
  const TestDevice device;
  expect_gradients_of_the_cpu([](Leaves& l) {
    const Tensor y = sum(square(residual_step(l, l.x)));
    const Tensor first = grad(y, l.x, {.create_graph = true});
    sum(square(first)).backward();
  });
}

TEST(CudaGradientSums, TakeTheRowsOfTiedTables) {
  const TestDevice device;
  const auto gradient_of = [](Device place, std::optional<int64_t> padding) {
    const Leaves l(place);
    const Tensor rows = embedding(l.w1, from_vector(std::vector<int64_t>{3, 0, 3, 7}).to(place), {padding});
    sum(square(linear(rows, l.w1))).backward();
    return l.w1.grad().to(cpu);
  };
  for (const std::optional<int64_t> padding : {std::optional<int64_t>(), std::optional<int64_t>(3)})
    EXPECT_TRUE(tensors_near(gradient_of(cuda, padding), gradient_of(cpu, padding), test_tolerance(2e-5)));
}

}  // namespace
}  // namespace tape
