// CUDA kernels of one's own (bias_gelu.cu) as an operation, checked without a GPU, and on one where there is one.
#include <tapeformer.h>
#include <tapeformer/autograd/cuda/emulation/emulation.h>
#include <tapeformer/autograd/cuda/stream.h>
#include <tapeformer/autograd/ops/kernel_call.h>

#include <cmath>
#include <iostream>
#include <numbers>

using namespace tape;
using cuda_device::Kernel;

// What TAPE_EXPORT() defines, found by name.
struct Kernels {
  Kernel f32, f64;
  const Kernel& of(const Tensor& x) const { return x.dtype() == tape::f64 ? f64 : f32; }
};
constinit const Kernels forward_kernels{Kernel("bias_gelu_f32"), Kernel("bias_gelu_f64")};
constinit const Kernels backward_kernels{Kernel("bias_gelu_backward_f32"), Kernel("bias_gelu_backward_f64")};
constinit const Kernels racing_kernels{Kernel("bias_gelu_racing_f32"), Kernel("bias_gelu_racing_f64")};

struct BiasGelu {
  static constexpr const char* name = "bias_gelu";
  const Kernels* backward_kernel = &backward_kernels;

  Tensor forward(ForwardContext& c) const {
    const Tensor &x = c.input(0), &bias = c.input(1);
    c.save({x, bias});
    if (x.device().is_cpu()) return gelu(x + bias);
    const int64_t cols = bias.numel(), rows = x.numel() / cols;
    Tensor y = empty_like(x);
    // Chooses the GPU, and at.in() and at.out() give addresses in its memory. The call returns before the kernel has
    // run.
    run_kernels(name, x.device(), [&](const KernelCall& at) {
      forward_kernels.of(x)({64}, {256}, rows, cols, at.in(x), at.in(bias), at.out(y));
    });
    return y;
  }

  Tensors backward(const BackwardContext& c) const {
    const Tensor x = c.saved(0), bias = c.saved(1), dy = c.grad();
    // A gradient that will be differentiated again must consist of operations, since nothing records what a kernel
    // does.
    if (x.device().is_cpu() || c.create_graph()) {
      const Tensor z = x + bias, cdf = 0.5 * (1 + erf(z / std::numbers::sqrt2));
      const Tensor pdf = exp(-0.5 * square(z)) / std::sqrt(2 * std::numbers::pi), dx = dy * (cdf + z * pdf);
      return {dx, dx};  // the tape sums over the rows
    }
    const int64_t cols = bias.numel(), rows = x.numel() / cols;
    Tensor dx = empty_like(x), dbias = empty_like(bias);
    run_kernels(name, x.device(), [&](const KernelCall& at) {
      backward_kernel->of(x)({static_cast<uint32_t>((cols + 31) / 32)}, {32, 8}, rows, cols, at.in(x), at.in(bias),
                             at.in(dy), at.out(dx), at.out(dbias));
    });
    return {dx, dbias};
  }
};

// x [..., C], bias [C], both f32 or both f64. A kernel trusts its arguments, so the operation checks them.
Tensor bias_gelu(const Tensor& x, const Tensor& bias, const BiasGelu& operation = {}) {
  if (bias.rank() != 1 || bias.numel() == 0 || x.rank() == 0 || x.size(-1) != bias.numel())
    raise(ErrorKind::shape, "bias_gelu: x {} does not end with the size of bias {}", to_string(x.shape()),
          to_string(bias.shape()));
  if (x.dtype() != bias.dtype() || (x.dtype() != f32 && x.dtype() != f64))
    raise(ErrorKind::dtype, "bias_gelu: needs f32 or f64: x {}, bias {}", to_string(x.dtype()),
          to_string(bias.dtype()));
  return custom(operation, {x, bias});
}

// Values beside the CPU's in f32, then gradients beside finite differences in f64, first and second derivatives.
bool check(Device device) {
  const Tensor x = randn({3, 40}, f32), bias = randn({40}, f32);
  const Tensor y = bias_gelu(x.to(device), bias.to(device)).to(cpu);
  const bool same = allclose(y, gelu(x + bias), {.rtol = 1e-5, .atol = 1e-6});
  std::cout << "values " << (same ? "agree" : "differ") << "\n";
  const auto call = [](const Tensors& in) { return bias_gelu(in[0], in[1]); };
  const Tensors inputs{x.to(f64).to(device), bias.to(f64).to(device)};
  const GradcheckReport first = gradcheck(call, inputs), second = gradgradcheck(call, inputs);
  std::cout << first << "\nsecond derivatives " << (second.ok() ? "agree\n" : "differ\n");
  return same && first.ok() && second.ok();
}

// What the emulated device finds when threads run in the order of the schedule.
std::string fault_of_racing_kernel() {
  try {
    const Tensor x = randn({3, 40}, cuda).requires_grad_(), bias = randn({40}, cuda).requires_grad_();
    sum(bias_gelu(x, bias, {.backward_kernel = &racing_kernels})).backward();
    synchronize(cuda);  // a fault is thrown at the latest where the program waits
  } catch (const Error& error) {
    return error.what();
  }
  return "no fault found";
}

int main() {
  manual_seed(1);
  bool ok = true;
  {
    cuda_device::emulation::EmulatedDevice device;  // while it lives, `cuda` is this device
    std::cout << "emulated device:\n";
    ok = check(cuda);
    std::cout << "\nwithout the barrier:\n";
    for (const int schedule : {0, 2}) {
      device.set_schedule(schedule);
      std::cout << fault_of_racing_kernel() << "\n";
    }
  }
  const Devices real = devices();
  for (const DeviceInfo& gpu : real.gpus) {
    std::cout << "\n" << gpu.name << ":\n";
    ok = check(gpu.device) && ok;
  }
  if (real.gpus.empty()) std::cout << "\nno GPU on this machine\n";
  return ok ? 0 : 1;
}
