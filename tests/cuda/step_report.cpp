// Reports of training steps: on a GPU as on the CPU, and when they are received.
#include "optim/step_report.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/cuda/context.h"
#include "autograd/kernels/training/optimizer.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/reduce/reduce.h"
#include "optim/clip.h"
#include "optim/sgd.h"
#include "tests/cuda/test_device.h"
#include "tests/support/errors.h"

namespace tape::optim {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

/// Parameters on a GPU with the gradients 3 and 4 in each of two values, so that the norm is sqrt(50).
struct Parameters {
  Parameters() { sum(a * 3 + b * 4).backward(); }
  Tensors all() const { return {a, b}; }
  Tensor a = ones({2}, {f32, cuda}).requires_grad_(), b = ones({2}, {f32, cuda}).requires_grad_();
};

Tensor loss_of(double value, DType dtype = f32) { return full({}, value, {dtype, cuda}); }

TEST(CudaStepReport, HasTheNormTheScaleAndTheLosses) {
  const cuda_device::TestDevice device;
  const Parameters parameters;
  for (const double max_norm : {0.0, 1.0, 100.0})
    for (const DType dtype : {f32, f64}) {
      StepReport report(parameters.all(), {loss_of(2.5), loss_of(0.1, dtype)}, {.mean = 0.25, .max_norm = max_norm});
      report.send();
      const StepReport::Values values = report.receive();
      const double norm = 0.25 * grad_norm(parameters.all());
      EXPECT_EQ(values.norm, norm);
      EXPECT_EQ(values.losses, (std::vector<double>{2.5, dtype == f32 ? double{0.1F} : 0.1}));
      EXPECT_EQ(report.scale().item(), 0.25 * (max_norm > 0 ? clip_scale(norm, max_norm) : 1));
    }
}

TEST(CudaStepReport, IsThatOfTheCpusKernel) {
  double squares = 50, values[7] = {};
  const float first = 2.5F, second = 0.1F;
  kernels::Finding finding;
  kernels::optimizer<float>().report({.mean = 0.25,
                                      .max_norm = 1,
                                      .squares = &squares,
                                      .count = 2,
                                      .losses = {&first, &second},
                                      .check = 3,
                                      .finding = &finding,
                                      .report = values});
  const cuda_device::TestDevice device;
  const Parameters parameters;
  StepReport report(parameters.all(), {loss_of(2.5), loss_of(0.1)}, {.mean = 0.25, .max_norm = 1});
  report.send();
  EXPECT_DOUBLE_EQ(values[0], report.receive().norm);
  EXPECT_DOUBLE_EQ(values[1], report.scale().item());
  EXPECT_EQ(values[5], 2.5);
  EXPECT_EQ(finding.check, 0);
  squares = kNan;
  kernels::optimizer<float>().report({.mean = 1,
                                      .max_norm = 0,
                                      .squares = &squares,
                                      .count = 0,
                                      .losses = {},
                                      .check = 3,
                                      .finding = &finding,
                                      .report = values});
  EXPECT_EQ(finding.check, 3);
  EXPECT_EQ(values[2], 3);
}

TEST(CudaStepReport, KeepsTheOptimizerFromUpdatingByValuesThatAreNotFinite) {
  const cuda_device::TestDevice device;
  Parameters parameters;
  Sgd sgd(parameters.all(), {.lr = 0.1});
  const auto step = [&](double loss) {
    StepReport report(parameters.all(), {loss_of(loss)}, {});
    sgd.step({.scale_on_device = report.scale(), .known_finite = true});
    report.send();
    return report;
  };
  StepReport bad = step(kNan), after = step(1);
  const StepReport::Values values = bad.receive();
  EXPECT_FALSE(values.is_finite());
  EXPECT_EQ(values.norm, grad_norm(parameters.all()));
  EXPECT_TRUE(after.receive().is_finite());
  EXPECT_EQ(parameters.a.to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_TRUE(step(1).receive().is_finite());
  EXPECT_LT(parameters.a.to_vector<float>()[0], 1);
  parameters.b.set_grad(full({2}, kInfinity, {f32, cuda}));
  EXPECT_FALSE(step(1).receive().is_finite());
}

TEST(CudaStepReport, WaitsForNothingLater) {
  const cuda_device::TestDevice device;
  const Parameters parameters;
  const int64_t waits = cuda_device::waits();
  for (int step = 0; step < 5000; ++step) {
    StepReport report(parameters.all(), {loss_of(1)}, {});
    report.send();
    report.receive();
  }
  EXPECT_EQ(cuda_device::waits(), waits);
}

TEST(CudaStepReport, RefusesWhatItCannotReport) {
  const cuda_device::TestDevice device;
  const Parameters parameters;
  EXPECT_TRUE(StepReport::is_possible(parameters.all()));
  EXPECT_FALSE(StepReport::is_possible({parameters.a, parameters.a.to(f64)}));
  EXPECT_FALSE(StepReport::is_possible({parameters.a.to(cpu)}));
  EXPECT_TAPE_ERROR(StepReport(parameters.all(), Tensors{}, {}), ErrorKind::config,
                    "StepReport: needs 1 to 128 losses, got 0");
  StepReport report(parameters.all(), {loss_of(1)}, {});
  EXPECT_TAPE_ERROR(report.receive(), ErrorKind::config, "StepReport: receive: send() has not been called");
  const Tensor wide = ones({2}, {f64, cuda}).requires_grad_();
  sum(wide).backward();
  EXPECT_TAPE_ERROR(StepReport({wide}, {loss_of(1)}, {}), ErrorKind::dtype, "StepReport: needs f32, got f64");
}

}  // namespace
}  // namespace tape::optim
