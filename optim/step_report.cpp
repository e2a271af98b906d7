#include "optim/step_report.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "autograd/create.h"
#include "autograd/kernels/training/optimizer.h"
#include "autograd/ops/kernel_call.h"
#include "autograd/ops/reduce/totals.h"
#include "autograd/ops/shape/shape.h"
#include "base/error.h"

namespace tape::optim {
namespace {

using Layout = kernels::StepReport<float>;
static_assert(StepReport::kMostLosses == Layout::kMostLosses);

/// The losses in one dtype on the device: f32 if all of them are.
Tensors in_one_dtype(TensorList losses, Device device) {
  const bool single = std::ranges::all_of(losses, [](const Tensor& loss) { return loss.dtype() == f32; });
  Tensors all;
  for (const Tensor& loss : losses) all.push_back(loss.detach().to(device).to(single ? f32 : f64));
  return all;
}

template <class T>
void compute(const KernelCall& at, const Tensors& losses, const Tensor& squares, Tensor& values,
             const StepReport::Options& options, int64_t number, kernels::Finding* finding) {
  kernels::StepReport<T> report = {.mean = options.mean,
                                   .max_norm = options.max_norm,
                                   .squares = at.in<double>(squares),
                                   .count = std::ssize(losses),
                                   .losses = {},
                                   .check = number,
                                   .finding = finding,
                                   .report = at.out<double>(values)};
  for (size_t i = 0; i < losses.size(); ++i) report.losses[i] = at.in<T>(losses[i]);
  kernels::optimizer<T>(at).report(report);
}

}  // namespace

bool StepReport::Values::is_finite() const {
  return std::isfinite(norm) && std::ranges::all_of(losses, [](double loss) { return std::isfinite(loss); });
}

bool StepReport::is_possible(TensorList parameters) {
  const Device device = parameters[0].device();
  return reading_waits(device) && std::ranges::all_of(parameters, [&](const Tensor& parameter) {
           return parameter.device() == device && parameter.dtype() == f32;
         });
}

StepReport::StepReport(TensorList parameters, TensorList losses, const Options& options) : losses_(std::ssize(losses)) {
  const NoGrad no_grad;
  if (losses_ == 0 || losses_ > kMostLosses)
    raise(ErrorKind::config, "StepReport: needs 1 to {} losses, got {}", kMostLosses, losses_);
  const Device device = parameters[0].device();
  Tensors gradients;
  for (const Tensor& parameter : parameters)
    if (parameter.grad().defined()) gradients.push_back(parameter.grad());
  const Tensor squares = sum_of_squares_on_device("StepReport", gradients, device);
  const Tensors all = in_one_dtype(losses, device);
  values_ = empty({Layout::kLosses + losses_}, {f64, device});
  const ValueCheck finite = {ErrorKind::numeric, [](int64_t, int64_t) {
                               return "StepReport: a loss or a gradient contains NaN or infinity; nothing was changed";
                             }};
  run_kernels("StepReport", device, [&](const KernelCall& at) {
    at.check(finite, [&](int64_t number, kernels::Finding* finding) {
      check_ = number;
      if (all.front().dtype() == f32)
        compute<float>(at, all, squares, values_, options, number, finding);
      else
        compute<double>(at, all, squares, values_, options, number, finding);
    });
  });
}

Tensor StepReport::scale() const {
  return reshape(slice(values_, 0, {.start = Layout::kScale, .end = Layout::kScale + 1}), {});
}

void StepReport::send() {
  run_kernels("StepReport", values_.device(), [&](const KernelCall& at) {
    copy_ = device_memory::begin_to_host(values_.device(), at.in<double>(values_),
                                         values_.numel() * static_cast<int64_t>(sizeof(double)));
  });
}

StepReport::Values StepReport::receive() {
  if (!copy_) raise(ErrorKind::config, "StepReport: receive: send() has not been called");
  const auto* const given = static_cast<const double*>(copy_->wait());
  Values values{given[Layout::kNorm], {given + Layout::kLosses, given + Layout::kLosses + losses_}};
  if (given[Layout::kCheck] == 0) {
    run_kernels("StepReport", values_.device(), [&](const KernelCall&) { device_checks::passed(check_); });
    return values;
  }
  try {
    device_memory::synchronize(values_.device());  // throws what the check says, and lets later ones report
  } catch (const Error& error) {
    if (given[Layout::kCheck] != static_cast<double>(check_)) throw;
  }
  return values;
}

}  // namespace tape::optim
