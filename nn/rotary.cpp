#include "nn/rotary.h"

#include <cmath>

#include "autograd/create.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/join.h"
#include "autograd/ops/shape.h"
#include "nn/check.h"

namespace tape::nn {
namespace {

const ModuleCheck rotary_halves("Rotary", "halves", [](const Checker& check) {
  Rotary layer(4);
  return check(layer, {sample_normal({2, 3, 8})});
});
const ModuleCheck rotary_interleaved("Rotary", "interleaved, a part of the columns", [](const Checker& check) {
  Rotary layer(8, {.pairing = RotaryPairing::interleaved, .theta = 100, .fraction = 0.5});
  return check(layer, {sample_normal({1, 3, 8})});
});

int64_t turned_columns(int64_t head_width, const RotaryOptions& options) {
  if (!(options.theta > 0) || !(options.fraction > 0) || options.fraction > 1)
    raise(ErrorKind::config, "Rotary: theta must be positive and the fraction in (0, 1], got {} and {}", options.theta,
          options.fraction);
  const double turned = options.fraction * static_cast<double>(head_width);
  if (head_width < 1 || turned != std::floor(turned) || std::fmod(turned, 2) != 0)
    raise(ErrorKind::config, "Rotary: {} of {} columns a head cannot be turned in pairs", turned, head_width);
  return static_cast<int64_t>(turned);
}

struct Turn {
  Tensor cosine, sine;  // [T, 1, R/2]
};

Turn turn_of(int64_t first, int64_t length, int64_t turned, double theta, DType dtype) {
  const int64_t pairs = turned / 2;
  Tensor cosine = empty({length, 1, pairs}, f64), sine = empty({length, 1, pairs}, f64);
  double *c = cosine.mutable_data<double>(), *s = sine.mutable_data<double>();
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < pairs; ++i) {
      const double exponent = -2 * static_cast<double>(i) / static_cast<double>(turned);
      const double angle = static_cast<double>(first + t) * std::pow(theta, exponent);
      c[t * pairs + i] = std::cos(angle);
      s[t * pairs + i] = std::sin(angle);
    }
  }
  return {cosine.to(dtype), sine.to(dtype)};
}

}  // namespace

Rotary::Rotary(int64_t head_width, const RotaryOptions& options)
    : head_width_(head_width), turned_(turned_columns(head_width, options)), options_(options) {}

Tensor Rotary::forward(const Tensor& x, int64_t first) const {
  if (x.rank() != 3 || x.size(-1) % head_width_ != 0)
    raise(ErrorKind::shape, "Rotary: x must be [B, T, H {}], got {}", head_width_, to_string(x.shape()));
  if (first < 0) raise(ErrorKind::index, "Rotary: the first position must not be negative, got {}", first);
  const int64_t pairs = turned_ / 2, length = x.size(1);
  const Turn turn = turn_of(first, length, turned_, options_.theta, x.dtype());
  const bool interleaved = options_.pairing == RotaryPairing::interleaved;

  const Tensor heads = reshape(x, Shape{x.size(0), length, x.size(-1) / head_width_, head_width_});
  const Tensor turning = slice(heads, -1, {.end = turned_});
  Tensor u, v;  // [B, T, H, R/2]
  if (interleaved) {
    u = slice(turning, -1, {.step = 2});
    v = slice(turning, -1, {.start = 1, .step = 2});
  } else {
    u = slice(turning, -1, {.end = pairs});
    v = slice(turning, -1, {.start = pairs});
  }
  const Tensor turned_u = u * turn.cosine - v * turn.sine, turned_v = u * turn.sine + v * turn.cosine;
  Tensor y = interleaved ? flatten(stack({turned_u, turned_v}, -1), -2) : cat({turned_u, turned_v}, -1);
  if (turned_ < head_width_) y = cat({y, slice(heads, -1, {.start = turned_})}, -1);
  return reshape(y, x.shape());
}

std::string Rotary::settings() const {
  return fmt::format("{} of {} columns, {}, theta {}", turned_, head_width_,
                     options_.pairing == RotaryPairing::halves ? "halves" : "interleaved", options_.theta);
}

}  // namespace tape::nn
