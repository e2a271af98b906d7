#include "nn/dropout.h"

#include <fmt/format.h>

#include "autograd/ops/check.h"
#include "autograd/ops/elementwise/dropout.h"

namespace tape::nn {

Dropout::Dropout(double p) : p_(p) { check_dropout("Dropout", p); }

Tensor Dropout::forward(const Tensor& x) const { return dropout(x, active_probability()); }

std::string Dropout::settings() const { return fmt::format("{}", p_); }

}  // namespace tape::nn
