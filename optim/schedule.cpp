#include "optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace tape::optim {
namespace {

using Formula = std::function<double(int64_t)>;

double number(int64_t count) { return static_cast<double>(count); }

double peak_lr(const char* name, const Optimizer& optimizer, const std::optional<double>& given) {
  const double lr = given.value_or(optimizer.initial_lr());
  if (!(lr >= 0) || std::isinf(lr)) raise(ErrorKind::config, "{}: lr must be a number >= 0, got {}", name, lr);
  return lr;
}

void check_lengths(const char* name, int64_t warmup, int64_t total) {
  check_at_least_one(name, {{"total", total}});
  if (warmup < 0) raise(ErrorKind::config, "{}: warmup must not be negative, got {}", name, warmup);
  if (warmup > total)
    raise(ErrorKind::config, "{}: warmup must not be longer than total, got {} and {}", name, warmup, total);
}

/// Returns the fraction of the steps after the warm-up that is done, in [0, 1].
double progress(int64_t step, int64_t warmup, int64_t total) {
  return step >= total ? 1 : number(step - warmup) / number(total - warmup);
}

Formula constant(const Optimizer& optimizer, const ConstantOptions& options) {
  const double lr = peak_lr("ConstantSchedule", optimizer, options.lr);
  return [lr](int64_t) { return lr; };
}

Formula warmup_only(const Optimizer& optimizer, const WarmupOptions& options) {
  const double lr = peak_lr("WarmupSchedule", optimizer, options.lr);
  check_at_least_one("WarmupSchedule", {{"warmup", options.warmup}});
  return [lr, warmup = options.warmup](int64_t t) { return lr * std::min(1.0, number(t) / number(warmup)); };
}

Formula linear(const Optimizer& optimizer, const LinearOptions& options) {
  const double lr = peak_lr("LinearSchedule", optimizer, options.lr);
  check_lengths("LinearSchedule", options.warmup, options.total);
  return [lr, warmup = options.warmup, total = options.total](int64_t t) {
    return t <= warmup ? lr * number(t) / number(warmup) : lr * (1 - progress(t, warmup, total));
  };
}

Formula cosine(const Optimizer& optimizer, const CosineOptions& options) {
  const double lr = peak_lr("CosineSchedule", optimizer, options.lr);
  check_lengths("CosineSchedule", options.warmup, options.total);
  if (!(options.min_lr >= 0 && options.min_lr <= lr))
    raise(ErrorKind::config, "CosineSchedule: min_lr must be between 0 and lr, got {} and lr {}", options.min_lr, lr);
  return [lr, warmup = options.warmup, total = options.total, low = options.min_lr](int64_t t) {
    if (t <= warmup) return lr * number(t) / number(warmup);
    return low + (lr - low) * (1 + std::cos(std::numbers::pi * progress(t, warmup, total))) / 2;
  };
}

Formula inverse_sqrt(const Optimizer& optimizer, const InverseSqrtOptions& options) {
  const double lr = peak_lr("InverseSqrtSchedule", optimizer, options.lr);
  check_at_least_one("InverseSqrtSchedule", {{"warmup", options.warmup}});
  return [lr, warmup = number(options.warmup)](int64_t t) {
    return lr * std::min(number(t) / warmup, std::sqrt(warmup / number(t)));
  };
}

Formula noam(const NoamOptions& options) {
  check_at_least_one("NoamSchedule", {{"d_model", options.d_model}, {"warmup", options.warmup}});
  if (!(options.factor > 0) || std::isinf(options.factor))
    raise(ErrorKind::config, "NoamSchedule: factor must be a number > 0, got {}", options.factor);
  const double scale = options.factor / std::sqrt(number(options.d_model));
  return [scale, slope = std::pow(number(options.warmup), -1.5)](int64_t t) {
    return scale * std::min(1 / std::sqrt(number(t)), number(t) * slope);
  };
}

}  // namespace

Schedule::Schedule(Optimizer& optimizer, Formula formula) : optimizer_(optimizer), formula_(std::move(formula)) {
  set_last_step(0);
}

void Schedule::set_last_step(int64_t done) {
  if (done < 0) raise(ErrorKind::config, "Schedule: the number of steps done must not be negative, got {}", done);
  optimizer_.set_scheduled_lr(lr_at(done + 1));
  last_step_ = done;
}

double Schedule::lr_at(int64_t step) const {
  if (step < 1) raise(ErrorKind::config, "Schedule: steps are counted from 1, got {}", step);
  return formula_(step);
}

ConstantSchedule::ConstantSchedule(Optimizer& optimizer, const ConstantOptions& options)
    : Schedule(optimizer, constant(optimizer, options)) {}
WarmupSchedule::WarmupSchedule(Optimizer& optimizer, const WarmupOptions& options)
    : Schedule(optimizer, warmup_only(optimizer, options)) {}
LinearSchedule::LinearSchedule(Optimizer& optimizer, const LinearOptions& options)
    : Schedule(optimizer, linear(optimizer, options)) {}
CosineSchedule::CosineSchedule(Optimizer& optimizer, const CosineOptions& options)
    : Schedule(optimizer, cosine(optimizer, options)) {}
InverseSqrtSchedule::InverseSqrtSchedule(Optimizer& optimizer, const InverseSqrtOptions& options)
    : Schedule(optimizer, inverse_sqrt(optimizer, options)) {}
NoamSchedule::NoamSchedule(Optimizer& optimizer, const NoamOptions& options) : Schedule(optimizer, noam(options)) {}

}  // namespace tape::optim
