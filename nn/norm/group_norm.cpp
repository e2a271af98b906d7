#include "nn/norm/group_norm.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/norm/group_norm.h"
#include "base/check.h"

namespace tape::nn {

GroupNorm::GroupNorm(int64_t groups, int64_t channels, const GroupNormOptions& options)
    : weight(this, "weight", options.affine ? ones({at_least_one("GroupNorm", "channels", channels)}) : Tensor()),
      bias(this, "bias", options.affine ? zeros({channels}) : Tensor()),
      groups_(at_least_one("GroupNorm", "groups", groups)),
      channels_(at_least_one("GroupNorm", "channels", channels)),
      eps_(options.eps) {
  if (channels % groups != 0)
    raise(ErrorKind::config, "GroupNorm: {} groups do not divide {} channels", groups, channels);
  if (!(eps_ >= 0)) raise(ErrorKind::config, "GroupNorm: eps must not be negative, got {}", eps_);
}

Tensor GroupNorm::forward(const Tensor& x) const {
  if (x.rank() >= 2 && x.size(1) != channels_)
    raise(ErrorKind::shape, "GroupNorm: expected {} channels, got x {}", channels_, to_string(x.shape()));
  return group_norm(x, groups_, weight, bias, eps_);
}

std::string GroupNorm::settings() const {
  return fmt::format("{} groups, {}, eps {}{}", groups_, channels_, eps_, weight.defined() ? "" : ", not affine");
}

}  // namespace tape::nn
