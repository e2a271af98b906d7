#include "nn/position/rotary_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "base/error.h"

namespace tape::nn {
namespace {

/// theta^(-2i/R).
std::vector<double> unscaled(double theta, int64_t rotary_dim) {
  std::vector<double> w(static_cast<size_t>(rotary_dim / 2));
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = std::pow(theta, -2 * static_cast<double>(i) / static_cast<double>(rotary_dim));
  return w;
}

std::vector<double> scaled(const RotaryFrequencies& f, int64_t, std::monostate) {
  return unscaled(f.theta, f.rotary_dim);
}

std::vector<double> scaled(const RotaryFrequencies& f, int64_t, const LinearScaling& scaling) {
  std::vector<double> w = unscaled(f.theta, f.rotary_dim);
  for (double& value : w) value /= scaling.factor;
  return w;
}

std::vector<double> scaled(const RotaryFrequencies& f, int64_t length, const DynamicScaling& scaling) {
  const double original = static_cast<double>(scaling.original_length);
  const double longer = std::max(static_cast<double>(length), original) / original;
  const double columns = static_cast<double>(f.rotary_dim), s = scaling.factor;
  return unscaled(f.theta * std::pow(s * longer - (s - 1), columns / (columns - 2)), f.rotary_dim);
}

std::vector<double> scaled(const RotaryFrequencies& f, int64_t, const Llama3Scaling& scaling) {
  const double original = static_cast<double>(scaling.original_length);
  const double low = scaling.low_freq_factor, high = scaling.high_freq_factor;
  std::vector<double> w = unscaled(f.theta, f.rotary_dim);
  for (double& value : w) {
    const double turns = original * value / (2 * std::numbers::pi);  // rotations within the original length
    const double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    value = (1 - kept) * value / scaling.factor + kept * value;
  }
  return w;
}

std::vector<double> scaled(const RotaryFrequencies& f, int64_t, const YarnScaling& scaling) {
  const double columns = static_cast<double>(f.rotary_dim), original = static_cast<double>(scaling.original_length);
  const auto pair_that_turns = [&](double times) {
    return columns * std::log(original / (2 * std::numbers::pi * times)) / (2 * std::log(f.theta));
  };
  double low = pair_that_turns(scaling.beta_fast), high = pair_that_turns(scaling.beta_slow);
  if (scaling.truncate) low = std::floor(low), high = std::ceil(high);
  low = std::max(low, 0.0), high = std::min(high, columns - 1);
  if (low == high) high += 0.001;  // as transformers does: a step instead of a ramp
  std::vector<double> w = unscaled(f.theta, f.rotary_dim);
  for (size_t i = 0; i < w.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    w[i] = (1 - ramp) * w[i] + ramp * w[i] / scaling.factor;
  }
  return w;
}

void check_factor(const char* kind, double factor) {
  if (!(factor > 0) || std::isinf(factor))
    raise(ErrorKind::config, "Rotary: the factor of {} scaling must be a positive number, got {}", kind, factor);
}
void check_length(const char* kind, int64_t length) {
  if (length < 1)
    raise(ErrorKind::config, "Rotary: the original length of {} scaling must be at least 1, got {}", kind, length);
}

void check_scaling(const RotaryFrequencies&, std::monostate) {}
void check_scaling(const RotaryFrequencies&, const LinearScaling& scaling) { check_factor("linear", scaling.factor); }
void check_scaling(const RotaryFrequencies& f, const DynamicScaling& scaling) {
  check_factor("dynamic", scaling.factor);
  check_length("dynamic", scaling.original_length);
  if (f.rotary_dim < 4)
    raise(ErrorKind::config, "Rotary: dynamic scaling needs at least 4 rotated columns, got {}", f.rotary_dim);
}
void check_scaling(const RotaryFrequencies&, const Llama3Scaling& scaling) {
  check_factor("llama3", scaling.factor);
  check_length("llama3", scaling.original_length);
  if (!(scaling.low_freq_factor > 0) || !(scaling.high_freq_factor > scaling.low_freq_factor))
    raise(ErrorKind::config, "Rotary: llama3 scaling needs 0 < low_freq_factor < high_freq_factor, got {} and {}",
          scaling.low_freq_factor, scaling.high_freq_factor);
}
void check_scaling(const RotaryFrequencies& f, const YarnScaling& scaling) {
  check_factor("yarn", scaling.factor);
  check_length("yarn", scaling.original_length);
  if (!(f.theta > 1)) raise(ErrorKind::config, "Rotary: yarn scaling needs theta > 1, got {}", f.theta);
  if (!(scaling.beta_slow > 0) || !(scaling.beta_fast >= scaling.beta_slow))
    raise(ErrorKind::config, "Rotary: yarn scaling needs 0 < beta_slow <= beta_fast, got {} and {}", scaling.beta_slow,
          scaling.beta_fast);
  if (scaling.attention_factor && !(*scaling.attention_factor > 0))
    raise(ErrorKind::config, "Rotary: the attention factor of yarn scaling must be positive, got {}",
          *scaling.attention_factor);
}

}  // namespace

void RotaryFrequencies::check() const {
  std::visit([this](const auto& kind) { check_scaling(*this, kind); }, scaling);
}

std::vector<double> RotaryFrequencies::inverse(int64_t length) const {
  return std::visit([&](const auto& kind) { return scaled(*this, length, kind); }, scaling);
}

double RotaryFrequencies::attention_factor() const {
  const auto* yarn = std::get_if<YarnScaling>(&scaling);
  if (!yarn) return 1;
  if (yarn->attention_factor) return *yarn->attention_factor;
  const auto m = [s = yarn->factor](double a) { return s > 1 ? 0.1 * a * std::log(s) + 1 : 1; };
  const double above = yarn->mscale.value_or(0), below = yarn->mscale_all_dim.value_or(0);
  return above != 0 && below != 0 ? m(above) / m(below) : m(1);
}

std::string to_string(const RotaryScaling& scaling) {
  struct {
    std::string operator()(std::monostate) const { return ""; }
    std::string operator()(const LinearScaling& s) const { return fmt::format("linear scaling by {}", s.factor); }
    std::string operator()(const DynamicScaling& s) const { return fmt::format("dynamic scaling by {}", s.factor); }
    std::string operator()(const Llama3Scaling& s) const { return fmt::format("llama3 scaling by {}", s.factor); }
    std::string operator()(const YarnScaling& s) const { return fmt::format("yarn scaling by {}", s.factor); }
  } const named;
  return std::visit(named, scaling);
}

}  // namespace tape::nn
