#include "autograd/ops/check.h"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "autograd/kernels/index/common/take.h"
#include "autograd/ops/kernel_call.h"
#include "base/error.h"

namespace tape {

void check_same_dtype(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype())
    raise(ErrorKind::dtype, "{}: dtypes differ: {} and {}", operation, to_string(a.dtype()), to_string(b.dtype()));
}

void check_parameter_dtype(const char* operation, const Tensor& x, const Tensor& parameter) {
  if (!is_half(x.dtype()) || parameter.dtype() != f32) check_same_dtype(operation, x, parameter);
}

void check_same_shape(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape())
    raise(ErrorKind::shape, "{}: shapes differ: {} and {}", operation, to_string(a.shape()), to_string(b.shape()));
}

void check_floating(const char* operation, const Tensor& x) {
  if (!is_floating(x.dtype()))
    raise(ErrorKind::dtype, "{}: needs a floating dtype, got {}", operation, to_string(x.dtype()));
}

void check_subtraction(DType a, DType b) {
  if (a == boolean || b == boolean)
    raise(ErrorKind::dtype, "sub: bool cannot be subtracted: {} - {}; use logical_xor or logical_not", to_string(a),
          to_string(b));
}

void check_linear(const char* operation, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  check_parameter_dtype(operation, x, weight);
  if (weight.rank() != 2)
    raise(ErrorKind::shape, "{}: weight must be [out, in], got {}", operation, to_string(weight.shape()));
  const int64_t out = weight.size(0), in = weight.size(1);
  if (x.rank() == 0 || x.size(-1) != in)
    raise(ErrorKind::shape, "{}: inner sizes differ: x {} x weight {} ({} vs {})", operation, to_string(x.shape()),
          to_string(weight.shape()), x.rank() ? x.size(-1) : 1, in);
  if (!bias.defined()) return;
  check_same_dtype(operation, weight, bias);
  if (!(bias.shape() == Shape{out}))
    raise(ErrorKind::shape, "{}: bias must be [{}], got {}", operation, out, to_string(bias.shape()));
}

void check_product_size(const char* operation, int64_t size) {
  if (size > std::numeric_limits<int32_t>::max())
    raise(ErrorKind::shape, "{}: size {} exceeds the matrix library's 32-bit limit", operation, size);
}

void check_dropout(const char* name, double p) {
  if (!(p >= 0 && p < 1)) raise(ErrorKind::config, "{}: the probability must be in [0, 1), got {}", name, p);
}

void check_none(ErrorKind kind, const char* operation, const Tensor& flags,
                std::function<std::string(int64_t position)> message) {
  const ValueCheck none = {kind, [operation, text = std::move(message)](int64_t position, int64_t) {
                             return fmt::format("{}: {}", operation, text(position));
                           }};
  run_kernels(operation, flags.device(), [&](const KernelCall& at) {
    at.check(none, [&](int64_t number, kernels::Finding* finding) {
      kernels::take(at).check_flags(flags.numel(), at.in<bool>(flags), number, finding);
    });
  });
}

void check_none(ErrorKind kind, const char* operation, const Tensor& flags, const char* message) {
  check_none(kind, operation, flags, [message](int64_t) { return std::string(message); });
}

}  // namespace tape
