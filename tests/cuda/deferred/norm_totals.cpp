// Gradients of norms' parameters that are launched together when the first is used, beside the CPU.
#include "autograd/ops/deferred/norm_totals.h"

#include <vector>

#include <gtest/gtest.h>

#include "autograd/memory.h"
#include "autograd/ops/norm/norm.h"
#include "autograd/tape/backward.h"
#include "autograd/tape/observer.h"
#include "tests/cuda/deferred/values.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

class CudaNormTotals : public DeferredCallTest {
 protected:
  static void read(const Tensor& x) { static_cast<void>(x.device_raw()); }
};

/// Norms of one tensor.
struct Norms {
  Tensor x;
  Tensors weights, biases;
  Device device;

  Norms(int count, DType dtype, Device place, int64_t width = 24)
      : x(values_of({40, width}, 1, dtype, place)), device(place) {
    const DType parameters = dtype == bf16 ? f32 : dtype;
    for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
      weights.push_back(values_of({width}, 2 + i, parameters, place).requires_grad_());
      biases.push_back(values_of({width}, 90 + i, parameters, place).requires_grad_());
    }
  }
  void backward() const {
    Tensors results;
    for (size_t i = 0; i < weights.size(); ++i) results.push_back(layer_norm(x, weights[i], biases[i], 1e-5));
    tape::backward(results, Tensors(results.size(), x));
  }
};

void expect_gradients_of_the_cpu(const Norms& there, const Norms& here) {
  for (size_t i = 0; i < there.weights.size(); ++i) {
    expect_same(there.weights[i].grad(), here.weights[i].grad());
    expect_same(there.biases[i].grad(), here.biases[i].grad());
  }
}

TEST_F(CudaNormTotals, AreOneLaunchForNormsOfOneSize) {
  for (const DType dtype : {f32, f64}) {
    const Norms here(5, dtype, cpu), there(5, dtype, cuda);
    here.backward();
    EXPECT_EQ(launches_of([&] { there.backward(); }), 2 * 5);
    EXPECT_EQ(launches_of([&] { read(there.biases[3].grad()); }), 1);
    EXPECT_EQ(launches_of([&] { read(there.weights[1].grad()); }), 0);
    expect_gradients_of_the_cpu(there, here);
  }
}

TEST_F(CudaNormTotals, AreApartForOtherSizes) {
  const Norms a(2, f32, cuda), b(2, f32, cuda, 20), here_a(2, f32, cpu), here_b(2, f32, cpu, 20);
  for (const Norms* norms : {&a, &b, &here_a, &here_b}) norms->backward();
  EXPECT_EQ(launches_of([&] { read(a.biases[0].grad()); }), 1);
  EXPECT_EQ(launches_of([&] { read(b.biases[0].grad()); }), 1);
  expect_gradients_of_the_cpu(a, here_a);
  expect_gradients_of_the_cpu(b, here_b);
}

TEST_F(CudaNormTotals, AreAddedToThoseOfEarlierPasses) {
  const Norms here(3, f32, cpu), there(3, f32, cuda);
  for (int pass = 0; pass < 3; ++pass) here.backward(), there.backward();
  expect_gradients_of_the_cpu(there, here);
}

TEST_F(CudaNormTotals, AreComputedOnceTheOtherGradientIsFreed) {
  const Norms here(1, f32, cpu), there(1, f32, cuda);
  const auto gradients_of = [](const Norms& n) {
    return grad(layer_norm(n.x, n.weights[0], n.biases[0], 1e-5), {n.weights[0], n.biases[0]}, {.gradients = {n.x}});
  };
  const Tensors expected = gradients_of(here);
  for (const size_t kept : {size_t{0}, size_t{1}}) {
    Tensors gradients = gradients_of(there);
    gradients[1 - kept] = Tensor();
    expect_same(gradients[kept], expected[kept]);
  }
  EXPECT_EQ(launches_of([&] {
              Tensors none = gradients_of(there);
              const int64_t before = launches();
              none.clear();
              synchronize(cuda);
              EXPECT_EQ(launches(), before);
            }),
            2)
      << "the norm and its gradient";
}

TEST_F(CudaNormTotals, DoNotWaitInLargeNumbers) {
  const Norms here(70, f32, cpu), there(70, f32, cuda);
  here.backward();
  there.backward();
  EXPECT_EQ(launches_of([&] {
              for (const Tensor& weight : there.weights) read(weight.grad());
            }),
            1)
      << "most were launched before";
  expect_gradients_of_the_cpu(there, here);
}

TEST_F(CudaNormTotals, AreAddedAtOnceForObservers) {
  const Norms there(1, f32, cuda);
  const Observer observer;
  there.backward();
  EXPECT_EQ(launches_of([&] { read(there.biases[0].grad()); }), 0);
}

}  // namespace
}  // namespace tape
