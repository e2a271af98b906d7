// Every registered operation on the emulated device: the same values and gradients as on the CPU.
#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/gradcheck/registered.h"
#include "autograd/ops/elementwise/cast.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/random.h"
#include "autograd/tape/op.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"
#include "tests/support/tensors.h"

namespace tape {
namespace {

/// Output of a sample, and the gradients of its inputs for a fixed gradient of the output.
struct Values {
  std::string label;
  Device device = {};
  Tensor output = {};
  Tensors gradients = {};
  std::string error = {};
};

/// Values of all samples of an operation whose tensors are created on the device; a message where one throws.
std::vector<Values> values_of(const Op& op, Device device) {
  const DeviceScope on_device(device);
  std::vector<Values> all;
  for (const OpSample& sample : op.samples()) {
    manual_seed(11);
    Values& values = all.emplace_back(Values{.label = sample.label});
    try {
      Tensors inputs;
      for (const Tensor& input : sample.inputs) inputs.push_back(input.detach().requires_grad_());
      const Tensor output = sample.call(inputs);
      values.device = output.device();
      values.output = output.detach().to(cpu);
      Generator stream(7);
      const Tensor seed = randn(output.shape(), {f64, cpu}, stream).to(output.options());
      if (output.requires_grad())
        values.gradients = grad({output}, inputs, {.gradients = {seed}, .allow_unused = true});
      for (Tensor& gradient : values.gradients)
        if (gradient.defined()) gradient = gradient.to(cpu);
    } catch (const std::exception& error) {
      values.error = error.what();
    }
  }
  return all;
}

bool close(const Tensor& a, const Tensor& b) {
  return a.defined() == b.defined() &&
         (!a.defined() || allclose(a, b, {.rtol = 1e-10, .atol = 1e-11, .equal_nan = true}));
}

TEST(CudaOperations, GiveTheValuesAndGradientsOfTheCpu) {
  const cuda_device::TestDevice device;
  for (const Op* op : registered_ops()) {
    const std::vector<Values> here = values_of(*op, cpu), there = values_of(*op, cuda);
    for (size_t i = 0; i < here.size(); ++i) {
      SCOPED_TRACE(std::string(op->name()) + ": " + here[i].label);
      EXPECT_EQ(there[i].error, here[i].error);
      if (!there[i].error.empty()) continue;
      EXPECT_EQ(there[i].device, cuda);
      EXPECT_TRUE(close(here[i].output, there[i].output));
      for (size_t input = 0; input < here[i].gradients.size(); ++input)
        EXPECT_TRUE(close(here[i].gradients[input], there[i].gradients[input])) << "gradient of input " << input;
    }
  }
}

/// Expects that every sample of every registered operation passes the gradient check with its tensors on the device,
/// along random directions (GradcheckOptions) unless `directions` is 0.
void expect_right_gradients(Derivative derivative, int64_t directions) {
  const cuda_device::TestDevice device;
  const DeviceScope on_device(cuda);
  for (const Op* op : registered_ops()) {
    const RegisteredCheck check = check_of(*op);
    for (const RegisteredSample& sample : check.samples) {
      SCOPED_TRACE(check.name + ": " + sample.label);
      try {
        const GradcheckReport report = sample.check(derivative, {.directions = directions, .blame = false});
        EXPECT_TRUE(report.ok()) << report;
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
}

TEST(CudaOperations, HaveRightGradients) { expect_right_gradients(Derivative::first, 0); }
// Element by element it takes a minute.
TEST(CudaOperations, HaveRightSecondDerivatives) { expect_right_gradients(Derivative::second, 4); }

}  // namespace
}  // namespace tape
