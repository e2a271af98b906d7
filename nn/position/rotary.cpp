#include "nn/position/rotary.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/ops/attention/rotary.h"

namespace tape::nn {
namespace {

int64_t turned_columns(int64_t head_width, const RotaryOptions& options) {
  if (!(options.theta > 0) || !(options.fraction > 0) || options.fraction > 1)
    raise(ErrorKind::config, "Rotary: theta must be positive and the fraction in (0, 1], got {} and {}", options.theta,
          options.fraction);
  const double turned = options.fraction * static_cast<double>(head_width);
  if (head_width < 1 || std::fmod(turned, 2) != 0)
    raise(ErrorKind::config, "Rotary: cannot rotate {} of {} columns per head in pairs", turned, head_width);
  return static_cast<int64_t>(turned);
}

}  // namespace

Rotary::Rotary(int64_t head_width, const RotaryOptions& options)
    : head_width_(head_width),
      frequencies_{options.theta, turned_columns(head_width, options), options.scaling},
      options_(options) {
  frequencies_.check();
}

Tensor Rotary::forward(const Tensor& x, const Positions& positions) const {
  if (x.rank() != 3 || x.size(-1) % head_width_ != 0)
    raise(ErrorKind::shape, "Rotary: x must be [B, T, H {}], got {}", head_width_, to_string(x.shape()));
  const RotaryTables rotary_tables =
      positions.rotary_tables(frequencies_, x.size(0), x.size(1), {compute_dtype(x.dtype()), x.device()});
  return rotary_embedding(
      x, rotary_tables.cosine, rotary_tables.sine,
      {.num_heads = x.size(-1) / head_width_, .interleaved = options_.pairing == RotaryPairing::interleaved});
}

std::string Rotary::settings() const {
  const std::string scaling = to_string(options_.scaling);
  return fmt::format("{} of {} columns, {}, theta {}{}{}", rotary_dim(), head_width_,
                     options_.pairing == RotaryPairing::halves ? "halves" : "interleaved", options_.theta,
                     scaling.empty() ? "" : ", ", scaling);
}

}  // namespace tape::nn
