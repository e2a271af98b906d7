#include "autograd/ops/elementwise/arithmetic.h"
#include "autograd/ops/elementwise/compare.h"
#include "autograd/ops/elementwise/masked.h"
#include "autograd/ops/elementwise/unary.h"
#include "autograd/ops/norm/softmax.h"
#include "autograd/ops/product/matmul.h"
#include "autograd/ops/reduce/reduce.h"
#include "autograd/ops/shape/shape.h"

namespace tape {

Tensor Tensor::sum(const Axes& axes, Dims dims) const { return tape::sum(*this, axes, dims); }
Tensor Tensor::mean(const Axes& axes, Dims dims) const { return tape::mean(*this, axes, dims); }
Tensor Tensor::max(const Axes& axes, Dims dims) const { return tape::max(*this, axes, dims); }
Tensor Tensor::min(const Axes& axes, Dims dims) const { return tape::min(*this, axes, dims); }
Tensor Tensor::argmax(int64_t axis, Dims dims) const { return tape::argmax(*this, axis, dims); }
Tensor Tensor::argmin(int64_t axis, Dims dims) const { return tape::argmin(*this, axis, dims); }
Tensor Tensor::any(const Axes& axes, Dims dims) const { return tape::any(*this, axes, dims); }
Tensor Tensor::all(const Axes& axes, Dims dims) const { return tape::all(*this, axes, dims); }

Tensor Tensor::reshape(const std::vector<int64_t>& sizes) const { return tape::reshape(*this, sizes); }
Tensor Tensor::view(const std::vector<int64_t>& sizes) const { return tape::reshape(*this, sizes); }
Tensor Tensor::flatten(int64_t first, int64_t last) const { return tape::flatten(*this, first, last); }
Tensor Tensor::transpose(int64_t a, int64_t b) const { return tape::transpose(*this, a, b); }
Tensor Tensor::permute(const std::vector<int64_t>& axes) const { return tape::permute(*this, axes); }
Tensor Tensor::unsqueeze(int64_t axis) const { return tape::unsqueeze(*this, axis); }
Tensor Tensor::squeeze(const Axes& axes) const { return tape::squeeze(*this, axes); }
Tensor Tensor::expand(const std::vector<int64_t>& sizes) const { return tape::expand(*this, sizes); }

Tensor Tensor::matmul(const Tensor& other) const { return tape::matmul(*this, other); }
Tensor Tensor::softmax(int64_t axis) const { return tape::softmax(*this, axis); }
Tensor Tensor::log_softmax(int64_t axis) const { return tape::log_softmax(*this, axis); }

Tensor Tensor::exp() const { return tape::exp(*this); }
Tensor Tensor::log() const { return tape::log(*this); }
Tensor Tensor::sqrt() const { return tape::sqrt(*this); }
Tensor Tensor::square() const { return tape::square(*this); }
Tensor Tensor::abs() const { return tape::abs(*this); }
Tensor Tensor::tanh() const { return tape::tanh(*this); }
Tensor Tensor::sigmoid() const { return tape::sigmoid(*this); }
Tensor Tensor::relu() const { return tape::relu(*this); }
Tensor Tensor::gelu() const { return tape::gelu(*this); }
Tensor Tensor::pow(const Number& exponent) const { return tape::pow(*this, exponent); }
Tensor Tensor::pow(const Tensor& exponent) const { return tape::pow(*this, exponent); }
Tensor Tensor::clamp(double low, double high) const { return tape::clamp(*this, low, high); }
Tensor Tensor::masked_fill(const Tensor& mask, const Number& value) const {
  return tape::masked_fill(*this, mask, value);
}

}  // namespace tape
