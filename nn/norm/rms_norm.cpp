#include "nn/norm/rms_norm.h"

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/norm/norm.h"
#include "base/check.h"

namespace tape::nn {

RMSNorm::RMSNorm(int64_t width, const RMSNormOptions& options)
    : weight(this, "weight", ones({at_least_one("RMSNorm", "width", width)})), eps_(options.eps) {
  if (!(eps_ >= 0)) raise(ErrorKind::config, "RMSNorm: eps must not be negative, got {}", eps_);
}

Tensor RMSNorm::forward(const Tensor& x) const { return rms_norm(x, weight, eps_); }

std::string RMSNorm::settings() const { return fmt::format("{}, eps {}", weight.size(0), eps_); }

}  // namespace tape::nn
