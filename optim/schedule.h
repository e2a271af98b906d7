#pragma once

#include <functional>
#include <optional>

#include "optimizer.h"

namespace tape::optim {

/// Sets an optimizer's lr before each of its steps. The constructor sets the lr of step 1; step(), called after the
/// optimizer's step, sets the next one:
///
///     adam.step();
///     schedule.step();
///
/// Any formula works: `Schedule schedule(adam, [](int64_t step) { return 1e-3 / static_cast<double>(step); });`. The
/// optimizer must outlive the schedule.
class Schedule {
 public:
  /// `formula` returns the lr of a step, counted from 1. Throws Error (config) if that is not finite and >= 0.
  Schedule(Optimizer& optimizer, std::function<double(int64_t step)> formula);

  /// Sets the lr of the optimizer's next step.
  void step() { set_last_step(last_step_ + 1); }
  /// Number of steps done: the only state to save.
  int64_t last_step() const { return last_step_; }
  /// Continues as after `done` steps, for a resume. Throws Error (config) if it is negative.
  void set_last_step(int64_t done);
  /// Returns the optimizer's lr, which its next step will use.
  double lr() const { return optimizer_.lr(); }
  /// Returns the formula's lr for any step, counted from 1.
  double lr_at(int64_t step) const;

 private:
  Optimizer& optimizer_;
  std::function<double(int64_t)> formula_;
  int64_t last_step_ = 0;
};

// In the options below, lr defaults to the optimizer's initial_lr() when the schedule is constructed: to continue a run
// with its lr, construct the schedule after the optimizer's state is loaded, or with an optimizer of the same lr. All
// throw Error (config) for options out of range.

/// Options of ConstantSchedule.
struct ConstantOptions {
  std::optional<double> lr = {};  ///< lr of every step; default initial_lr()
};
/// lr(t) = lr
class ConstantSchedule : public Schedule {
 public:
  /// Sets the lr of step 1. Throws Error (config) for options out of range.
  explicit ConstantSchedule(Optimizer& optimizer, const ConstantOptions& options = {});
};

/// Options of WarmupSchedule.
struct WarmupOptions {
  std::optional<double> lr = {};  ///< lr after the warm-up; default initial_lr()
  int64_t warmup = 0;             ///< steps, at least 1
};
/// lr(t) = lr min(1, t / warmup)
class WarmupSchedule : public Schedule {
 public:
  /// Sets the lr of step 1. Throws Error (config) for options out of range.
  WarmupSchedule(Optimizer& optimizer, const WarmupOptions& options);
};

/// Options of LinearSchedule.
struct LinearOptions {
  std::optional<double> lr = {};  ///< lr at the end of the warm-up; default initial_lr()
  int64_t warmup = 0;             ///< steps; 0 for none
  int64_t total = 0;              ///< steps, at least 1 and at least warmup
};
/// lr(t) = lr t / warmup up to t = warmup, then lr (total - t) / (total - warmup), and 0 from t = total on.
class LinearSchedule : public Schedule {
 public:
  /// Sets the lr of step 1. Throws Error (config) for options out of range.
  LinearSchedule(Optimizer& optimizer, const LinearOptions& options);
};

/// Options of CosineSchedule.
struct CosineOptions {
  std::optional<double> lr = {};  ///< lr at the end of the warm-up; default initial_lr()
  int64_t warmup = 0;             ///< steps; 0 for none
  int64_t total = 0;              ///< steps, at least 1 and at least warmup
  double min_lr = 0;              ///< at most lr
};
/// lr(t) = lr t / warmup up to t = warmup, then min_lr + (lr - min_lr) (1 + cos(pi (t - warmup) / (total - warmup))) /
/// 2, and min_lr from t = total on (Loshchilov and Hutter 2017, "SGDR", without restarts).
class CosineSchedule : public Schedule {
 public:
  /// Sets the lr of step 1. Throws Error (config) for options out of range.
  CosineSchedule(Optimizer& optimizer, const CosineOptions& options);
};

/// Options of InverseSqrtSchedule.
struct InverseSqrtOptions {
  std::optional<double> lr = {};  ///< the peak; default initial_lr()
  int64_t warmup = 4000;          ///< steps, at least 1
};
/// lr(t) = lr min(t / warmup, sqrt(warmup / t)): lr is the peak, at t = warmup.
class InverseSqrtSchedule : public Schedule {
 public:
  /// Sets the lr of step 1. Throws Error (config) for options out of range.
  explicit InverseSqrtSchedule(Optimizer& optimizer, const InverseSqrtOptions& options = {});
};

/// Options of NoamSchedule.
struct NoamOptions {
  int64_t d_model = 0;    ///< the model's width, at least 1
  int64_t warmup = 4000;  ///< steps, at least 1
  double factor = 1;      ///< greater than 0
};
/// lr(t) = factor d_model^-0.5 min(t^-0.5, t warmup^-1.5): Vaswani et al. 2017, "Attention is all you need", 5.3. The
/// peak, at t = warmup, is factor / sqrt(d_model warmup).
class NoamSchedule : public Schedule {
 public:
  /// Sets the lr of step 1. Throws Error (config) for options out of range.
  NoamSchedule(Optimizer& optimizer, const NoamOptions& options);
};

}  // namespace tape::optim
