#include "nn/init.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "autograd/kernels/random.h"
#include "autograd/tape/scope.h"
#include "nn/embedding.h"

namespace tape::nn::init {
namespace {

void check_deviation(const char* name, double mean, double stddev) {
  if (!std::isfinite(mean) || !(stddev >= 0) || std::isinf(stddev))
    raise(ErrorKind::config, "{}: needs a finite mean and stddev >= 0, got {} and {}", name, mean, stddev);
}

/// `name` is the function the user called.
Tensor fill_uniform(const char* name, Tensor x, double low, double high, Generator& stream) {
  if (!std::isfinite(high - low) || low > high)
    raise(ErrorKind::config, "{}: needs finite bounds, low <= high, got {} and {}", name, low, high);
  dispatch_floating(name, x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::random<T>().uniform(x.numel(), stream.seed(), stream.advance(x.numel()), static_cast<T>(low),
                                 static_cast<T>(high), x.mutable_data<T>());
  });
  return x;
}

Tensor fill_normal(const char* name, Tensor x, double mean, double stddev, Generator& stream) {
  check_deviation(name, mean, stddev);
  dispatch_floating(name, x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    kernels::random<T>().normal(x.numel(), stream.seed(), stream.advance(x.numel()), static_cast<T>(mean),
                                static_cast<T>(stddev), x.mutable_data<T>());
  });
  return x;
}

Fans fans_of(const char* name, const Shape& shape) {
  if (shape.rank() < 2)
    raise(ErrorKind::shape, "{}: fans need at least two axes [out, in], the tensor is {}", name, to_string(shape));
  const int64_t taps = shape.slice(2, shape.rank()).numel();
  return {checked_multiply(shape[1], taps, "fan in"), checked_multiply(shape[0], taps, "fan out")};
}

/// gain / sqrt(fan), for any positive fan; 0 for a tensor without elements, which has nothing to fill.
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

/// Phi, exact to the last digits also far down the lower tail.
double normal_below(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

using Coefficients = std::array<double, 8>;  // of r^0, r^1, ...

double ratio(const Coefficients& numerator, const Coefficients& denominator, double r) {
  double above = 0, below = 0;
  for (size_t i = 8; i-- > 0;) {
    above = above * r + numerator[i];
    below = below * r + denominator[i];
  }
  return above / below;
}

/// The z with Phi(z) = p, 0 < p < 1: Wichura 1988, algorithm AS 241, PPND16 (about 16 digits).
double normal_quantile(double p) {
  const double q = p - 0.5;
  if (std::abs(q) <= 0.425)
    return q *
           ratio({3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
                  4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
                 {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
                  2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3},
                 0.180625 - q * q);
  const double r = std::sqrt(-std::log(q < 0 ? p : 1 - p));
  const double size = r <= 5 ? ratio({1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                      3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                      2.27238449892691845833e-2, 7.74545014278341407640e-4},
                                     {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0,
                                      6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                      5.47593808499534494600e-4, 1.05075007164441684324e-9},
                                     r - 1.6)
                             : ratio({6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                                      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                      2.71155556874348757815e-5, 2.01033439929228813265e-7},
                                     {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                      1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                      1.42151175831644588870e-7, 2.04426310338993978564e-15},
                                     r - 5);
  return q < 0 ? -size : size;
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
  const double mean = options.mean, stddev = options.stddev, low = options.low, high = options.high;
  check_deviation("truncated_normal_", mean, stddev);
  if (!(stddev > 0) || !(low < high))
    raise(ErrorKind::config, "truncated_normal_: needs stddev > 0 and low < high, got {}, {} and {}", stddev, low,
          high);
  // In the upper half the probabilities crowd at 1, so an interval there is drawn mirrored.
  const bool mirrored = low > mean;
  const double from = (mirrored ? mean - high : low - mean) / stddev;
  const double to = (mirrored ? mean - low : high - mean) / stddev;
  const double first = normal_below(from), width = normal_below(to) - first;
  if (!(width > 0))
    raise(ErrorKind::config, "truncated_normal_: nothing lies between {} and {}, so far from mean {} (stddev {})", low,
          high, mean, stddev);
  dispatch_floating("truncated_normal_", x.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* values = x.mutable_data<T>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      const double p = first + width * stream.uniform();
      const double z = p > 0 && p < 1 ? normal_quantile(p) : from;  // only the very ends reach 0 or 1
      const double value = mean + stddev * (mirrored ? -z : z);
      values[i] = std::clamp(static_cast<T>(value), static_cast<T>(low), static_cast<T>(high));
    }
  });
  return x;
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
