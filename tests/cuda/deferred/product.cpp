// Products of linear layers that are launched when their results are used, beside the CPU, where they run at once.
#include "autograd/ops/deferred/product.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/cuda/blas.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/scope.h"
#include "optim/adam.h"
#include "tests/cuda/deferred/values.h"
#include "tests/cuda/environment.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

using cuda_device::TestDevice;

/// x [rows, 24] and three layers [10, 24] on a device, one after the other, so that their distances are the same.
struct Layers {
  Tensor x, residual;
  std::vector<Tensor> weights, biases;

  Layers(int64_t rows, DType dtype, Device device, bool bias = true)
      : x(values_of({rows, 24}, 1, dtype, device)), residual(values_of({rows, 10}, 2, dtype, device)) {
    for (uint64_t i = 0; i < 3; ++i) {
      weights.push_back(values_of({10, 24}, 3 + i, dtype, device));
      biases.push_back(bias ? values_of({10}, 6 + i, dtype, device) : Tensor());
    }
  }
  Tensor operator()(size_t i) const { return linear(x, weights[i], biases[i]); }
};

/// The values of layers of a dtype, in f64 on the CPU.
Layers exact(int64_t rows, DType dtype, bool bias = true) {
  Layers l(rows, dtype, cpu, bias);
  const auto widen = [](Tensor& x) {
    if (x.defined()) x = x.to(f64);
  };
  widen(l.x), widen(l.residual);
  for (size_t i = 0; i < 3; ++i) widen(l.weights[i]), widen(l.biases[i]);
  return l;
}

using CudaDeferredProduct = DeferredCallTest;

TEST_F(CudaDeferredProduct, AddsAResidual) {
  for (const DType dtype : {f32, f64, bf16})
    for (const int64_t rows : {1, 3, 8, 40})
      for (const bool bias : {true, false}) {
        SCOPED_TRACE(testing::Message() << to_string(dtype) << ", " << rows << " rows, bias " << bias);
        const Layers here = exact(rows, dtype, bias), there(rows, dtype, cuda, bias);
        Tensor left, right;
        EXPECT_EQ(launches_of([&] { left = there.residual + there(0); }), 1);
        EXPECT_EQ(launches_of([&] { right = there(0) + there.residual; }), 1);
        expect_same(left, here.residual + here(0));
        expect_same(right, here.residual + here(0));
      }
}

TEST(CudaDeferredProducts, RunOnTheLibrarysKernelsWithoutCuBlas) {
  const TestDevice device({.blas = false});
  for (const DType dtype : {f32, bf16}) {
    const Layers here = exact(40, dtype), there(40, dtype, cuda);
    expect_same(there.residual + there(0), here.residual + here(0));
    const Tensor q = there(0), k = there(1), v = there(2);
    for (size_t i = 0; i < 3; ++i) expect_same(i == 0 ? q : i == 1 ? k : v, here(i));
  }
}

TEST_F(CudaDeferredProduct, LaunchesProductsOfOneTensorTogether) {
  for (const DType dtype : {f32, f64, bf16})
    for (const int64_t rows : {1, 2, 7, 40})
      for (const bool bias : {true, false})
        for (const size_t count : {size_t{2}, size_t{3}}) {
          SCOPED_TRACE(testing::Message() << to_string(dtype) << ", " << rows << " rows, bias " << bias);
          const Layers here = exact(rows, dtype, bias), there(rows, dtype, cuda, bias);
          std::vector<Tensor> results;
          EXPECT_EQ(launches_of([&] {
                      for (size_t i = 0; i < count; ++i) results.push_back(there(i));
                    }),
                    0);
          // The last one, so that those before come along.
          EXPECT_EQ(launches_of([&] { static_cast<void>(results.back().device_raw()); }), 1);
          EXPECT_EQ(launches_of([&] { static_cast<void>(results.front().device_raw()); }), 0);
          for (size_t i = 0; i < count; ++i) expect_same(results[i], here(i));
        }
}

TEST_F(CudaDeferredProduct, LaunchesApartWhatIsNotEvenlySpaced) {
  const Layers here = exact(40, f32);
  Layers there(40, f32, cuda);
  const Tensor hole = empty({1000}, {f32, cuda});
  there.weights[1] = values_of({10, 24}, 4, f32, cuda);
  const Tensor a = there(0), b = there(1), c = there(2);
  EXPECT_EQ(launches_of([&] { static_cast<void>(b.device_raw()); }), 2) << "two of them are evenly spaced";
  expect_same(a, here(0));
  expect_same(b, here(1));
  expect_same(c, here(2));
}

TEST_F(CudaDeferredProduct, LaunchesThreeAtMostTogether) {
  const Layers here = exact(40, f32);
  Layers there(40, f32, cuda);
  const Tensor results[] = {there(0), there(1), there(2), there(0)};
  EXPECT_EQ(launches_of([&] { static_cast<void>(results[1].device_raw()); }), 1);
  const auto change = [&] { there.x.zero_(); };
  const int64_t with_product = launches_of(change);  // that of the last one, which reads x
  EXPECT_EQ(with_product, launches_of(change) + 1);
  for (size_t i = 0; i < 4; ++i) expect_same(results[i], here(i % 3));
}

TEST_F(CudaDeferredProduct, TakesNoMemoryUntilItIsLaunched) {
  const Layers l(40, f32, cuda);
  const int64_t before = memory_stats(cuda).live_bytes;
  const Tensor y = l(0);
  EXPECT_EQ(memory_stats(cuda).live_bytes, before);
  const Tensor z = l.residual + y;
  const int64_t of_one = memory_stats(cuda).live_bytes - before;
  EXPECT_GT(of_one, 0);
  static_cast<void>(y.device_raw());
  EXPECT_EQ(memory_stats(cuda).live_bytes, before + 2 * of_one);
}

TEST_F(CudaDeferredProduct, ReadsOperandsAsTheyWere) {
  const Layers here = exact(4, f32);
  const Tensor expected = here(0);
  Layers l(4, f32, cuda);
  const auto result_after = [&](const auto& change) {
    const Tensor y = l(0);
    change();
    return y;
  };
  expect_same(result_after([&] { l.x.add_(1); }), expected);
  l = Layers(4, f32, cuda);
  expect_same(result_after([&] { l.weights[0].zero_(); }), expected);
  l = Layers(4, f32, cuda);
  expect_same(result_after([&] { l.biases[0].copy_(l.biases[1]); }), expected);
  l = Layers(4, f32, cuda);
  expect_same(result_after([&] { select(l.x, 0, 2).mul_(3); }), expected);
  // The memory of the operands is not given to others.
  l = Layers(4, f32, cuda);
  expect_same(result_after([&] {
                l.x = l.weights[0] = l.biases[0] = Tensor();
                for (int i = 0; i < 8; ++i) ones({10, 24}, {f32, cuda});
              }),
              expected);
}

TEST_F(CudaDeferredProduct, ReadsRoundedWeightsAsTheyWereBeforeAnUpdate) {
  const AutocastScope autocast;
  Layers l(4, f32, cuda);
  l.weights[0].requires_grad_();
  optim::Adam adam({l.weights[0]}, {.lr = 0.1});
  const auto update = [&] {
    adam.zero_grad();
    sum(square(linear(l.x * 2, l.weights[0]))).backward();
    adam.step();  // which writes the rounded copy, too
  };
  update();
  const NoGrad no_grad;
  const Tensor before = l(0).to(cpu), late = l(0);
  {
    const EnableGrad again;
    update();
  }
  EXPECT_TRUE(tensors_equal(late.to(cpu), before));
  EXPECT_FALSE(tensors_equal(l(0).to(cpu), before));
}

TEST_F(CudaDeferredProduct, CanBeReadAfterItWasAdded) {
  const Layers here = exact(4, f32), there(4, f32, cuda);
  const Tensor y = there(0), z = there.residual + y;
  expect_same(y, here(0));
  expect_same(z, here.residual + here(0));
  const Tensor twice = there(1);
  expect_same(twice + twice, here(1) + here(1));
  const Tensor a = there(0), b = there(1);
  expect_same(a + b, here(0) + here(1));
  expect_same(a + there.biases[2], here(0) + here.biases[2]);
}

TEST_F(CudaDeferredProduct, IsSeenThroughViewsAndInPlaceWrites) {
  const Layers here = exact(4, f32), there(4, f32, cuda);
  Tensor y = there(0);
  expect_same(reshape(y, {2, 2, 10}), reshape(here(0), {2, 2, 10}));
  y = there(0);
  expect_same(reshape(y, {40}) + reshape(there.residual, {40}), reshape(here(0) + here.residual, {40}));
  y = there(0);
  expect_same(slice(y, 0, {.start = 2}) + slice(there.residual, 0, {.start = 2}),
              slice(here(0) + here.residual, 0, {.start = 2}));
  y = there(0);
  y.add_(there.residual);
  expect_same(y, here(0) + here.residual);
  y = there(0);
  y.zero_();
  expect_same(y, zeros({4, 10}));
  y = there(0);
  y.copy_(there.residual);
  expect_same(y, here.residual);
  y = zeros({4, 10}, {f32, cuda});
  y.copy_(there(0));
  expect_same(y, here(0));
}

TEST_F(CudaDeferredProduct, IsNotLaunchedIfNothingReadsIt) {
  const Layers l(4, f32, cuda);
  const int64_t bytes = memory_stats(cuda).live_bytes;
  EXPECT_EQ(launches_of([&] { l(0); }), 0);
  EXPECT_EQ(memory_stats(cuda).live_bytes, bytes);
  EXPECT_EQ(launches_of([&] {
              const Tensor y = l(0);
              synchronize(cuda);
            }),
            1);
  // Only so many wait.
  std::vector<Tensor> all;
  EXPECT_GE(launches_of([&] {
              for (int i = 0; i < 20; ++i) all.push_back(l(0));
            }),
            4);
  const Layers here = exact(4, f32);
  for (const Tensor& y : all) expect_same(y, here(0));
}

TEST_F(CudaDeferredProduct, CanBeReadByAnotherThread) {
  const Layers here = exact(4, f32), there(4, f32, cuda);
  const Tensor q = there(0), k = there(1), v = there(2);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> values(6);
  for (size_t i = 0; i < values.size(); ++i)
    threads.emplace_back([&, i] { values[i] = (i % 3 == 0 ? q : i % 3 == 1 ? k : v).to_vector<float>(); });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < values.size(); ++i) expect_same(from_vector(values[i], {4, 10}), here(i % 3));
}

TEST_F(CudaDeferredProduct, RunsAtOnceForObservers) {
  const Layers l(4, f32, cuda);
  const Observer observer;
  Tensor y;
  EXPECT_EQ(launches_of([&] { y = l(0); }), 1);
}

TEST(CudaDeferredProducts, RunAtOnceIfLaunchesWait) {
  const cuda_device::EnvironmentVariable blocking("TAPE_CUDA_BLOCKING", "1");
  const TestDevice device;
  const Layers l(4, f32, cuda);
  const int64_t before = device.launches() + device.products();
  const Tensor y = l(0);
  EXPECT_EQ(device.launches() + device.products() - before, 1);
}

TEST_F(CudaDeferredProduct, HasTheGradientsOfTheCpu) {
  const auto gradients_of = [](Device place) {
    Layers l(6, f32, place);
    for (Tensor* leaf : {&l.x, &l.residual, &l.weights[0], &l.weights[1], &l.weights[2], &l.biases[0]})
      leaf->requires_grad_();
    const Tensor y = l.residual + l(0), z = l(1) * l(2) + y;
    sum(square(z)).backward();
    return Tensors{z.detach(),          l.x.grad(),          l.residual.grad(), l.weights[0].grad(),
                   l.weights[1].grad(), l.weights[2].grad(), l.biases[0].grad()};
  };
  const Tensors here = gradients_of(cpu), there = gradients_of(cuda);
  for (size_t i = 0; i < here.size(); ++i) expect_same(there[i], here[i]);
}

}  // namespace
}  // namespace tape
