#include "nn/lora.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/statistics.h"
#include "autograd/ops/shape/shape.h"
#include "autograd/tape/scope.h"
#include "base/check.h"
#include "nn/init.h"

namespace tape::nn {
namespace {

/// Returns the norm of each row, [out, 1].
Tensor row_norms(const Tensor& weight) {
  const NoGrad no_grad;
  return norm(weight, 2, {-1}, Dims::keep);
}

Shape checked(const Shape& shape, const Tensor& weight, const LoraOptions& o) {
  check_at_least_one("Lora", {{"rank", o.rank}});
  if (!(o.alpha > 0)) raise(ErrorKind::config, "Lora: alpha must be greater than 0, got {}", o.alpha);
  if (weight.rank() != 2)
    raise(ErrorKind::shape, "Lora: the weight must be [out, in], got {}", to_string(weight.shape()));
  return shape;
}

}  // namespace

Lora::Lora(const Tensor& weight, const LoraOptions& options)
    : A(this, "A", empty(checked({options.rank, weight.size(1)}, weight, options), weight.options())),
      B(this, "B", zeros({weight.size(0), options.rank}, weight.options())),
      magnitude(this, "magnitude", options.decomposed ? squeeze(row_norms(weight), -1) : Tensor()),
      dropout_(this, "dropout", options.dropout),
      options_(options) {
  const double bound = 1 / std::sqrt(static_cast<double>(weight.size(1)));
  init::uniform_(A, -bound, bound);
}

double Lora::scale() const {
  const auto rank = static_cast<double>(options_.rank);
  return options_.alpha / (options_.rank_stabilized ? std::sqrt(rank) : rank);
}

/// s B (A x), or with DoRA, where n = |W + s B A| are the row norms and g = m / n,
///     g (W x + s B A x) - W x = (g - 1) W x + g s B A x.
/// W x uses x after dropout, so that in training the whole product sees the same x.
Tensor Lora::forward(const Tensor& x, const Tensor& y, const Tensor& weight, const Tensor& bias) {
  const Tensor seen = dropout_(x);                       // [..., in]
  Tensor change = linear(linear(seen, A), B * scale());  // [..., out]
  if (!magnitude.defined()) return change;
  const Tensor product = dropout_->active_probability() > 0 ? linear(seen, weight) : bias.defined() ? y - bias : y;
  const Tensor growth = magnitude / squeeze(row_norms(changed(weight)), -1);  // [out]
  return (growth - 1) * product + growth * change;
}

Tensor Lora::changed(const Tensor& weight) const {
  const NoGrad no_grad;
  return weight + matmul(B * scale(), A);
}

Tensor Lora::merged(const Tensor& weight) const {
  const NoGrad no_grad;
  const Tensor whole = changed(weight);
  return magnitude.defined() ? whole * (unsqueeze(magnitude, -1) / row_norms(whole)) : whole;
}

std::string Lora::settings() const {
  return fmt::format("rank {}, scale {:.4g}{}{}", options_.rank, scale(), magnitude.defined() ? ", DoRA" : "",
                     active ? "" : ", not active");
}

}  // namespace tape::nn
