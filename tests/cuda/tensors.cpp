// Tensors, gradients, modules and training on the emulated device.
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/custom.h"
#include "autograd/device_memory.h"
#include "autograd/gradcheck/gradcheck.h"
#include "autograd/io/npy.h"
#include "autograd/kernels/runtime/common/missing.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/host_fallbacks.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/linalg.h"
#include "autograd/ops/loss/regression_loss.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/product.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/tape/op.h"
#include "autograd/transforms/derivatives.h"
#include "nn/linear.h"
#include "nn/sequential.h"
#include "optim/adam.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

class CudaTensors : public testing::Test {
 protected:
  cuda_device::TestDevice device_;
};

TEST_F(CudaTensors, MoveBetweenDevices) {
  const Tensor x = tensor({{1, 2}, {3, 4}}, f64), y = x.to(cuda);
  EXPECT_EQ(y.device(), cuda);
  EXPECT_EQ(to_string(y.device()), "cuda");
  EXPECT_TRUE(tensors_equal(y.to(cpu), x));
  EXPECT_TRUE(y.to(cuda).is(y));
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(sum(y).item(), 10);
}

TEST_F(CudaTensors, AreCopiedToTheHostAsTheyWereWithoutWaiting) {
  Tensor x = tensor({1, 2, 3}).to(cuda);
  const int64_t waits = cuda_device::waits();
  const auto copy = device_memory::begin_to_host(cuda, x.device_raw(), 3 * sizeof(float));
  x.fill_(7);
  const auto* const values = static_cast<const float*>(copy->wait());
  EXPECT_EQ(std::vector<float>(values, values + 3), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(cuda_device::waits(), waits);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(3, 7));
}

/// The lines of docs/guide/cuda.md.
TEST_F(CudaTensors, MayTakeTheirMemoryWhenTheyAreFirstUsed) {
  const int64_t before = memory_stats(cuda).live_bytes;
  {
    const Ref<Storage> late = Storage::allocate_late(5000, cuda), unused = Storage::allocate_late(5000, cuda);
    EXPECT_EQ(memory_stats(cuda).live_bytes, before);
    EXPECT_NE(late->data(), nullptr);
    EXPECT_EQ(late->data(), late->data());
    EXPECT_FALSE(late->is_deferred());
    EXPECT_GE(memory_stats(cuda).live_bytes, before + 5000);
    EXPECT_LT(memory_stats(cuda).live_bytes, before + 10000);
  }
  EXPECT_EQ(memory_stats(cuda).live_bytes, before);
  EXPECT_NE(Storage::allocate_late(100, cpu)->data(), nullptr);
}

TEST_F(CudaTensors, AreUsedAsInTheGuide) {
  nn::Linear model(3, 4);
  Tensor x = randn({2, 3}, cuda);
  Tensor w = randn({3, 4}, {f64, cpu});
  Tensor y = matmul(x, w.to(f32).to(cuda));
  EXPECT_EQ(y.device(), cuda);
  EXPECT_TRUE(tensors_near(y.to(cpu), matmul(x.to(cpu), w.to(f32)), 1e-6));
  model.to(cuda);
  EXPECT_EQ(model.weight.device(), cuda);
  EXPECT_EQ(model(x).device(), cuda);
}

TEST_F(CudaTensors, RefuseAccessFromTheHost) {
  const Tensor x = ones({2, 3}, cuda);
  EXPECT_TAPE_ERROR(x.data<float>(), ErrorKind::device, "data: the tensor [2, 3] is on cuda; use .to(cpu)");
  EXPECT_TAPE_ERROR(x.raw(), ErrorKind::device, "data: the tensor [2, 3] is on cuda; use .to(cpu)");
}

TEST_F(CudaTensors, RefuseOperandsOnDifferentDevices) {
  const Tensor x = ones({2}, cuda), y = ones({2});
  EXPECT_TAPE_ERROR(x + y, ErrorKind::device,
                    "add: operands are on different devices: cuda and cpu; move one with to()");
  EXPECT_TAPE_ERROR(matmul(ones({2, 2}), ones({2, 2}, cuda)), ErrorKind::device,
                    "matmul: operands are on different devices: cpu and cuda; move one with to()");
}

TEST_F(CudaTensors, RefuseGradientsOnAnotherDevice) {
  Tensor x = ones({2}, cuda).requires_grad_();
  EXPECT_TAPE_ERROR(x.set_grad(ones({2})), ErrorKind::device,
                    "set_grad: the gradient is on cpu, the tensor is on cuda");
  Tensor y = x * 2;
  EXPECT_TAPE_ERROR(backward({y}, {ones({2})}), ErrorKind::device,
                    "backward: the seed is on cpu, the output is on cuda");
  y.register_hook([](const Tensor& gradient) { return gradient.to(cpu); });
  EXPECT_TAPE_ERROR(sum(y).backward(), ErrorKind::device,
                    "hook: the gradient of 'affine' is on cuda, the hook returned one on cpu");
  const auto wrong = [](const BackwardContext& c) -> Tensors { return {c.grad().to(cpu)}; };
  EXPECT_TAPE_ERROR(sum(custom(
                            "same", {x}, [](const Tensors& in) { return in[0] * 1; }, wrong))
                        .backward(),
                    ErrorKind::device, "backward of 'same': the gradient of input 0 is on cpu, the input is on cuda");
  const auto twice = [](const Tensors& in) { return in[0] * 2; };
  EXPECT_TAPE_ERROR(vjp(twice, {x}, ones({2})), ErrorKind::device,
                    "vjp: v is on cpu, the value of the function is on cuda");
  EXPECT_TAPE_ERROR(jvp(twice, {x}, {ones({2})}), ErrorKind::device, "jvp: tangent 0 is on cpu, the input is on cuda");
}

TEST_F(CudaTensors, AreCreatedOnTheDeviceOfTheScope) {
  {
    const DeviceScope on_cuda(cuda);
    EXPECT_EQ(zeros({2}).device(), cuda);
    EXPECT_EQ(tensor({1, 2}).device(), cuda);
    EXPECT_EQ(arange(3).device(), cuda);
    EXPECT_EQ(zeros({2}, {f32, cpu}).device(), cpu);
    EXPECT_EQ(exp(zeros({2}, {f32, cpu})).device(), cpu);
  }
  EXPECT_EQ(zeros({2}).device(), cpu);
}

TEST_F(CudaTensors, DrawTheSameRandomValuesAsTheCpu) {
  Generator here(3), there(3);
  const double tolerance = cuda_device::test_on_gpu() ? 1e-6 : 0;
  EXPECT_TRUE(tensors_near(randn({100}, f32, here), randn({100}, {f32, cuda}, there).to(cpu), tolerance));
  EXPECT_TRUE(tensors_near(rand({100}, f64, here), rand({100}, {f64, cuda}, there).to(cpu), tolerance));
}

TEST_F(CudaTensors, SendGradientsBackToTheirDevice) {
  const Tensor x = tensor({1, 2, 3}, f64).requires_grad_();
  const Tensor y = square(x.to(cuda));
  sum(y).backward();
  EXPECT_EQ(x.grad().device(), cpu);
  EXPECT_TRUE(tensors_equal(x.grad(), tensor({2, 4, 6}, f64)));
}

TEST_F(CudaTensors, ArePrintedWithTheirDevice) {
  EXPECT_EQ(to_string(tensor({1, 2}, {f64, cuda})), "tensor([1.0000, 2.0000], f64, cuda)");
}

TEST_F(CudaTensors, AreSavedAndLoadedOnAnyDevice) {
  const TemporaryFolder folder;
  manual_seed(3);
  nn::Linear there(3, 4), here(3, 4);
  there.to(cuda);
  there.save(folder / "weights.safetensors");
  here.load(folder / "weights.safetensors");
  EXPECT_EQ(here.weight.device(), cpu);
  EXPECT_TRUE(tensors_equal(here.weight, there.weight.to(cpu)));
  {
    const DeviceScope on_cuda(cuda);
    nn::Linear made(3, 4);
    made.load(folder / "weights.safetensors");
    EXPECT_EQ(made.weight.device(), cuda);
    EXPECT_TRUE(tensors_equal(made.weight.to(cpu), here.weight));
    save_npy(folder / "weight.npy", made.weight);
    EXPECT_TRUE(tensors_equal(load_npy(folder / "weight.npy"), here.weight));
  }
}

TEST_F(CudaTensors, AreCopiedFromPinnedMemory) {
  const Tensor x = tensor({1, 2, 3}, f64), pinned = x.pin_memory();
  EXPECT_EQ(pinned.device(), cpu);
  EXPECT_TRUE(tensors_equal(pinned, x));
  EXPECT_TRUE(tensors_equal(pinned.to(cuda).to(cpu), x));
  const Tensor first = x.pin_memory().to(cuda), second = (x + 1).pin_memory().to(cuda);
  EXPECT_TRUE(tensors_equal(first.to(cpu), x));
  EXPECT_TRUE(tensors_equal(second.to(cpu), x + 1));
  EXPECT_TAPE_ERROR(x.to(cuda).pin_memory(), ErrorKind::device, "data: the tensor [3] is on cuda; use .to(cpu)");
}

TEST_F(CudaTensors, AreCopiedWithTheValuesOfTheCall) {
  for (const int64_t size : {100, 50'000, 500'000, 5'000'000}) {
    Tensor x = full({size}, 3.0);
    const Tensor there = x.to(cuda);
    x.fill_(4);
    EXPECT_TRUE(tensors_equal(there.to(cpu), full({size}, 3.0))) << size;
  }
}

TEST_F(CudaTensors, CountOperationsThatTheHostComputes) {
  const Tensor x = tensor({{2, 1}, {1, 3}}, {f64, cuda});
  const auto count = [] { return host_fallbacks()["lu"]; };
  const int64_t before = count();
  EXPECT_TRUE(tensors_near(linalg::inv(x).to(cpu), linalg::inv(x.to(cpu)), 1e-15));
  EXPECT_GT(count(), before);
  ASSERT_EQ(setenv("TAPE_CUDA_FALLBACK", "error", 1), 0);
  EXPECT_TAPE_ERROR(linalg::inv(x), ErrorKind::device,
                    "lu: cuda has no kernel for it, and TAPE_CUDA_FALLBACK=error forbids the host's");
  ASSERT_EQ(unsetenv("TAPE_CUDA_FALLBACK"), 0);
}

TEST_F(CudaTensors, AreCopiedForKernelsThatADeviceLacks) {
  using Double = void (*)(int64_t n, const double* x, double* y);
  const Double on_host = [](int64_t n, const double* x, double* y) {
    for (int64_t i = 0; i < n; ++i) y[i] = 2 * x[i];
  };
  const Double on_device = kernels::missing;
  const Tensor x = tensor({1, 2, 3}, {f64, cuda});
  Tensor y = empty({3}, {f64, cuda});
  const int64_t before = host_fallbacks()["double"];
  run_kernels("double", cuda, [&](const KernelCall& at) {
    (at.device.is_cpu() ? on_host : on_device)(3, at.in<double>(x), at.out<double>(y));
  });
  EXPECT_EQ(y.to_vector<double>(), (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(host_fallbacks()["double"], before + 1);
}

TEST_F(CudaTensors, CountTheMemoryTheyUse) {
  const int64_t before = memory_stats(cuda).live_bytes;
  const Tensor x = zeros({1000}, {f64, cuda});
  EXPECT_GE(memory_stats(cuda).live_bytes, before + 8000);
  synchronize(cuda);
  synchronize(cpu);
}

TEST_F(CudaTensors, CanBeGradientChecked) {
  const Tensor x = sample_normal({3, 4}).to(cuda), w = sample_normal({4, 2}, 2).to(cuda);
  const auto right = [](const Tensors& in) { return tanh(matmul(in[0], in[1])); };
  EXPECT_TRUE(gradcheck(right, {x, w}).ok());
  EXPECT_TRUE(gradgradcheck(right, {x, w}).ok());
  const auto of_wrong = [](const Tensors& in) {
    return custom(
        "wrong", {in[0]}, [](ForwardContext& c) { return square(c.input(0)); },
        [](const BackwardContext& c) -> Tensors { return {square(c.grad()).detach()}; });
  };
  for (const GradcheckReport& report : {gradcheck(of_wrong, {x}), gradgradcheck(of_wrong, {x})}) {
    EXPECT_FALSE(report.ok());
    EXPECT_EQ(report.blame, "Operations are checked one by one on the CPU only.");
  }
}

/// Losses of a perceptron that learns products of its inputs; half of the steps on each device.
std::vector<double> trained(Device first, Device second) {
  manual_seed(5);
  nn::Sequential model;
  model.add<nn::Linear>(3, 16).add([](const Tensor& x) { return tanh(x); }).add<nn::Linear>(16, 1);
  model.to(f64);
  optim::Adam adam(model.parameters(), {.lr = 0.02});
  std::vector<double> losses;
  for (int step = 0; step < 40; ++step) {
    const Device device = step < 20 ? first : second;
    if (step % 20 == 0) model.to(device);
    const Tensor x = sample_normal({32, 3}).to(device), y = prod(x, -1, Dims::keep);
    const Tensor loss = mse_loss(model(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    losses.push_back(loss.item());
  }
  return losses;
}

TEST_F(CudaTensors, TrainAPerceptronAsOnTheCpu) {
  const std::vector<double> here = trained(cpu, cpu), there = trained(cuda, cuda), moved = trained(cpu, cuda);
  EXPECT_LT(here.back(), 0.5 * here.front());
  for (size_t i = 0; i < here.size(); ++i) {
    EXPECT_NEAR(there[i], here[i], 1e-10) << "step " << i;
    EXPECT_NEAR(moved[i], here[i], 1e-10) << "step " << i;
  }
}

TEST(CudaMemoryCaching, DoesNotChangeWhatIsComputed) {
  const auto on_device = [] {
    const cuda_device::TestDevice device;
    return trained(cuda, cuda);
  };
  const std::vector<double> with = on_device();
  setenv("TAPE_CUDA_NO_MEMORY_CACHING", "1", 1);
  EXPECT_EQ(on_device(), with);
  unsetenv("TAPE_CUDA_NO_MEMORY_CACHING");
}

}  // namespace
}  // namespace tape
