#include "nn/norm/batch_norm.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/norm/batch_norm.h"
#include "autograd/tape/scope.h"
#include "base/check.h"

namespace tape::nn {

BatchNormStats::BatchNormStats(Module* owner, const char* type, int64_t channels, const BatchNormLayerOptions& options)
    : weight(owner, "weight", options.affine ? ones({at_least_one(type, "channels", channels)}) : Tensor()),
      bias(owner, "bias", options.affine ? zeros({channels}) : Tensor()),
      running_mean(owner, "running_mean",
                   options.track_running_stats ? zeros({at_least_one(type, "channels", channels)}) : Tensor()),
      running_var(owner, "running_var", options.track_running_stats ? ones({channels}) : Tensor()),
      num_batches_tracked(owner, "num_batches_tracked", options.track_running_stats ? zeros({}, i64) : Tensor()),
      type_(type),
      channels_(at_least_one(type, "channels", channels)),
      options_(options) {
  if (!(options.eps >= 0)) raise(ErrorKind::config, "{}: eps must not be negative, got {}", type, options.eps);
  if (options.momentum && !std::isfinite(*options.momentum))
    raise(ErrorKind::config, "{}: momentum must be a number, got {}", type, *options.momentum);
}

Tensor BatchNormStats::normalize(const Tensor& x, bool training) {
  if (x.size(1) != channels_)
    raise(ErrorKind::shape, "{}: expected {} channels, got x {}", type_, channels_, to_string(x.shape()));
  const bool tracks = options_.track_running_stats;
  double momentum = options_.momentum.value_or(0);
  if (training && tracks) {
    if (!recomputing()) num_batches_tracked.add_(1);
    if (!options_.momentum) momentum = 1 / num_batches_tracked.item();
  }
  return batch_norm(x, running_mean, running_var, weight, bias,
                    {.training = training || !tracks, .momentum = momentum, .eps = options_.eps});
}

std::string BatchNormStats::settings_text() const {
  return fmt::format("{}, eps {}, momentum {}{}{}", channels_, options_.eps,
                     options_.momentum ? fmt::format("{}", *options_.momentum) : "cumulative",
                     options_.affine ? "" : ", not affine", options_.track_running_stats ? "" : ", not tracked");
}

BatchNorm1d::BatchNorm1d(int64_t channels, const BatchNormLayerOptions& options)
    : BatchNormStats(this, "BatchNorm1d", channels, options) {}

Tensor BatchNorm1d::forward(const Tensor& x) {
  if (x.rank() != 2 && x.rank() != 3)
    raise(ErrorKind::shape, "BatchNorm1d: x must be [N, C] or [N, C, L], got {}", to_string(x.shape()));
  return normalize(x, is_training());
}

BatchNorm2d::BatchNorm2d(int64_t channels, const BatchNormLayerOptions& options)
    : BatchNormStats(this, "BatchNorm2d", channels, options) {}

Tensor BatchNorm2d::forward(const Tensor& x) {
  if (x.rank() != 4) raise(ErrorKind::shape, "BatchNorm2d: x must be [N, C, H, W], got {}", to_string(x.shape()));
  return normalize(x, is_training());
}

}  // namespace tape::nn
