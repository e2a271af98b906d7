#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../autograd/device_memory.h"
#include "../autograd/tape/tape.h"

namespace tape::optim {

/// The gradient norm and the losses of a training step on a GPU, which the host reads when it needs them and not before
/// the step can go on. As with grad_norm() and clip_scale(), the gradients are those of losses times 1 / `mean`.
///
///     StepReport report(adam.parameters(), {loss}, {.max_norm = 1});
///     adam.step({.scale_on_device = report.scale(), .known_finite = true});
///     report.send();
///     ...                                        // such as the next step
///     const double norm = report.receive().norm;
///
/// If a loss or the norm is not finite, the optimizer updates nothing, like after any failed check, until the report
/// has been received.
class StepReport {
 public:
  /// How gradients are scaled.
  struct Options {
    double mean = 1;      ///< factor on every gradient before clipping
    double max_norm = 0;  ///< of all gradients together, after clipping; 0: no clipping
  };
  /// What a step computed.
  struct Values {
    double norm;                 ///< of the gradients times `mean`, before clipping
    std::vector<double> losses;  ///< in their order
    bool is_finite() const;      ///< whether all of them are
  };

  /// Most losses of a report.
  static constexpr int64_t kMostLosses = 128;
  /// Whether there can be reports for these parameters: all are f32, on one GPU.
  static bool is_possible(TensorList parameters);

  /// Computes the report, on the device, from the current gradients of the parameters and the losses, scalars of a
  /// floating dtype. Parameters without a gradient are skipped.
  StepReport(TensorList parameters, TensorList losses, const Options& options);

  /// The factor on every gradient, for StepOptions::scale_on_device.
  Tensor scale() const;
  /// Begins the copy to the host, behind the work so far.
  void send();
  /// Waits for the copy, but not for work after send(). Throws the Error of another check that failed before the
  /// report.
  Values receive();

 private:
  Tensor values_;  // f64, as kernels::StepReport says
  int64_t check_ = 0, losses_ = 0;
  std::unique_ptr<device_memory::CopyToHost> copy_;
};

}  // namespace tape::optim
