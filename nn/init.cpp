#include "nn/init.h"

#include <cmath>
#include <numbers>

#include "autograd/ops/random_call.h"
#include "autograd/tape/scope.h"
#include "nn/embedding/embedding.h"

namespace tape::nn::init {
namespace {

void check_deviation(const char* name, double mean, double stddev) {
  if (!std::isfinite(mean) || !(stddev >= 0) || std::isinf(stddev))
    raise(ErrorKind::config, "{}: needs a finite mean and stddev >= 0, got {} and {}", name, mean, stddev);
}

/// `name` is the function that the user called.
Tensor fill_uniform(const char* name, Tensor x, double low, double high, Generator& stream) {
  if (!std::isfinite(high - low) || low > high)
    raise(ErrorKind::config, "{}: needs finite bounds, low <= high, got {} and {}", name, low, high);
  fill_by_kernel(name, x, stream, [&](const auto& table, int64_t n, uint64_t seed, uint64_t counter, auto* values) {
    table.uniform(n, seed, counter, low, high, values);
  });
  return x;
}

Tensor fill_normal(const char* name, Tensor x, double mean, double stddev, Generator& stream) {
  check_deviation(name, mean, stddev);
  fill_by_kernel(name, x, stream, [&](const auto& table, int64_t n, uint64_t seed, uint64_t counter, auto* values) {
    table.normal(n, seed, counter, mean, stddev, values);
  });
  return x;
}

Fans fans_of(const char* name, const Shape& shape) {
  if (shape.rank() < 2)
    raise(ErrorKind::shape, "{}: needs at least two axes [out, in], got a tensor of shape {}", name, to_string(shape));
  const int64_t taps = shape.slice(2, shape.rank()).numel();
  return {checked_multiply(shape[1], taps, "fan in"), checked_multiply(shape[0], taps, "fan out")};
}

/// Returns gain / sqrt(fan) for a positive fan, and 0 for a tensor without elements, which needs no filling.
double deviation(const char* name, double gain, double fan) {
  if (!(gain > 0) || std::isinf(gain)) raise(ErrorKind::config, "{}: gain must be a number > 0, got {}", name, gain);
  return fan > 0 ? gain / std::sqrt(fan) : 0;
}

double xavier_deviation(const char* name, const Shape& shape, double gain) {
  const Fans fan = fans_of(name, shape);
  return deviation(name, gain, (static_cast<double>(fan.in) + static_cast<double>(fan.out)) / 2);
}

double kaiming_deviation(const char* name, const Shape& shape, const KaimingOptions& options) {
  const Fans fan = fans_of(name, shape);
  return deviation(name, gain(options.nonlinearity, options.negative_slope),
                   static_cast<double>(options.fan == Fan::in ? fan.in : fan.out));
}

}  // namespace

Fans fans(const Shape& shape) { return fans_of("fans", shape); }

double gain(Nonlinearity nonlinearity, double negative_slope) {
  switch (nonlinearity) {
    case Nonlinearity::tanh:
      return 5.0 / 3;
    case Nonlinearity::relu:
      return std::numbers::sqrt2;
    case Nonlinearity::leaky_relu:
      return std::sqrt(2 / (1 + negative_slope * negative_slope));
    case Nonlinearity::selu:
      return 0.75;
    case Nonlinearity::linear:
    case Nonlinearity::sigmoid:
      break;
  }
  return 1;
}

Tensor constant_(Tensor x, double value) {
  const NoGrad no_grad;
  return x.fill_(value);
}
Tensor zeros_(Tensor x) { return constant_(std::move(x), 0); }
Tensor ones_(Tensor x) { return constant_(std::move(x), 1); }

Tensor uniform_(Tensor x, double low, double high, Generator& stream) {
  return fill_uniform("uniform_", std::move(x), low, high, stream);
}
Tensor normal_(Tensor x, double mean, double stddev, Generator& stream) {
  return fill_normal("normal_", std::move(x), mean, stddev, stream);
}

Tensor truncated_normal_(Tensor x, const TruncatedNormalOptions& options, Generator& stream) {
  const NoGrad no_grad;
  return x.copy_(truncated_normal(x.shape(), options, x.dtype(), stream));
}

Tensor xavier_uniform_(Tensor x, double gain, Generator& stream) {
  const double bound = std::numbers::sqrt3 * xavier_deviation("xavier_uniform_", x.shape(), gain);
  return fill_uniform("xavier_uniform_", std::move(x), -bound, bound, stream);
}
Tensor xavier_normal_(Tensor x, double gain, Generator& stream) {
  const double stddev = xavier_deviation("xavier_normal_", x.shape(), gain);
  return fill_normal("xavier_normal_", std::move(x), 0, stddev, stream);
}

Tensor kaiming_uniform_(Tensor x, const KaimingOptions& options, Generator& stream) {
  const double bound = std::numbers::sqrt3 * kaiming_deviation("kaiming_uniform_", x.shape(), options);
  return fill_uniform("kaiming_uniform_", std::move(x), -bound, bound, stream);
}
Tensor kaiming_normal_(Tensor x, const KaimingOptions& options, Generator& stream) {
  const double stddev = kaiming_deviation("kaiming_normal_", x.shape(), options);
  return fill_normal("kaiming_normal_", std::move(x), 0, stddev, stream);
}

void start_normal(Module& module, double stddev) {
  for (const NamedTensor& parameter : module.named_parameters()) {
    if (parameter.tensor.rank() >= 2) normal_(parameter.tensor, 0, stddev);
    if (parameter.tensor.rank() == 1 && parameter.name.ends_with("bias")) zeros_(parameter.tensor);
  }
  for (const auto& [name, part] : module.named_modules())
    if (auto* table = dynamic_cast<Embedding*>(part)) table->clear_padding_row();
}

}  // namespace tape::nn::init
