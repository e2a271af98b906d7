#include <algorithm>
#include <cmath>
#include <numbers>

#include "autograd/create.h"
#include "models/gguf/names.h"

namespace tape::models::gguf {
namespace {

nn::RotaryFrequencies frequencies_of(const LlamaConfig& c, const nn::RotaryScaling& scaling) {
  return {.theta = c.rotary.theta, .rotary_dim = *c.head_width, .scaling = scaling};
}

/// Whether a scaling gives the file's divisors, up to f32 rounding.
bool gives(const LlamaConfig& c, const nn::Llama3Scaling& scaling, const std::vector<float>& divisors) {
  LlamaConfig trial = c;
  trial.rotary.scaling = scaling;
  const std::vector<double> made = divisors_of(trial).to_vector<double>();
  return std::equal(made.begin(), made.end(), divisors.begin(), divisors.end(),
                    [](double a, float b) { return std::abs(a - static_cast<double>(b)) <= 1e-5 * a; });
}

/// The frequencies between which Llama 3's scaling interpolates.
struct Borders {
  double low, high;
};

/// Candidate borders. For a frequency w, the share m = (w - low) / (high - low) in 1/d = (1 - m) / s + m is linear in
/// w, so two points determine it. With fewer, any line is possible that separates the frequencies divided by s from
/// those that are not divided.
std::vector<Borders> possible_borders(const std::vector<double>& w, const std::vector<float>& divisors, double s) {
  double kept = 2 * w.front(), divided = w.back() / 2;  // the nearest frequencies outside the interpolated range
  std::vector<std::pair<double, double>> line;
  for (size_t i = 0; i < w.size(); ++i) {
    const double m = (1 / static_cast<double>(divisors[i]) - 1 / s) / (1 - 1 / s);
    if (m > 1 - 1e-6)
      kept = std::min(kept, w[i]);
    else if (m < 1e-6)
      divided = std::max(divided, w[i]);
    else
      line.emplace_back(w[i], m);
  }
  const double low = divided * 1.001, high = kept * 0.999;
  if (line.empty()) return {{low, high}};
  const auto [w0, m0] = line.front();
  if (line.size() == 1) return {{low, low + (w0 - low) / m0}, {(w0 - m0 * high) / (1 - m0), high}};
  const auto [w1, m1] = line.back();
  const double slope = (m0 - m1) / (w0 - w1), zero = w0 - m0 / slope;
  return {{zero, zero + 1 / slope}};
}

/// The scaling that gives the divisors; its factor is the largest one. low_freq_factor, high_freq_factor and
/// original_length are determined only up to a common ratio: either the first is 1, as in every Llama, or, if
/// original_length would then not be an integer, original_length is large.
std::optional<nn::Llama3Scaling> llama3_of(const LlamaConfig& c, const std::vector<float>& divisors) {
  const std::vector<double> w = frequencies_of(c, {}).inverse(0);
  const double s = static_cast<double>(*std::max_element(divisors.begin(), divisors.end()));
  if (!(s > 1) || std::isinf(s)) return std::nullopt;
  const double turn = 2 * std::numbers::pi;
  constexpr double long_text = 1 << 30;
  for (const auto& [low, high] : possible_borders(w, divisors, s)) {
    if (!(low > turn / long_text) || !(high > low) || !(high < long_text)) continue;
    const nn::Llama3Scaling usual{s, 1, std::round(high / low * 1e4) / 1e4, std::llround(turn / low)};
    const nn::Llama3Scaling exact{s, low * long_text / turn, high * long_text / turn, int64_t{1} << 30};
    for (const nn::Llama3Scaling& found : {usual, exact})
      if (found.original_length >= 1 && found.high_freq_factor > found.low_freq_factor && gives(c, found, divisors))
        return found;
  }
  return std::nullopt;
}

}  // namespace

Tensor divisors_of(const LlamaConfig& c) {
  const std::vector<double> scaled = frequencies_of(c, c.rotary.scaling).inverse(0);
  std::vector<double> divisors = frequencies_of(c, {}).inverse(0);
  for (size_t i = 0; i < divisors.size(); ++i) divisors[i] /= scaled[i];
  return from_vector(divisors, {std::ssize(divisors)});
}

nn::RotaryScaling read_scaling(const GgufEntries& entries, const std::string& prefix, const LlamaConfig& c,
                               const Tensor& divisors) {
  const std::string key = prefix + "rope.scaling.", old = prefix + "rope.scale_linear";
  // llama.cpp treats a factor without a type as linear scaling; older files use another key; 0 means 1.
  const bool has_factor = entries.has(key + "factor") || entries.has(old);
  const std::string type = entries.text(key + "type", has_factor ? "linear" : "none");
  double factor = entries.number(key + "factor", entries.number(old, 1));
  if (factor == 0) factor = 1;
  if (type != "yarn")
    for (const char* name : {"original_context_length", "yarn_beta_fast", "yarn_beta_slow"}) entries.pass(key + name);
  const bool scales = type != "none" && factor != 1;
  if (divisors.defined()) {
    const std::vector<float> values = divisors.to_vector<float>();
    const bool divides = std::ranges::any_of(values, [](float value) { return value != 1; });
    const auto found = divides ? llama3_of(c, values) : std::nullopt;
    if (divides && (scales || !found))
      raise(ErrorKind::config, "{}: tensor \"rope_freqs.weight\" matches no supported scaling", entries.where());
    if (found) return *found;
  }
  if (type != "none" && type != "linear" && type != "yarn")
    raise(ErrorKind::config, "{}: \"{}type\" is \"{}\"; none, linear and yarn are supported", entries.where(), key,
          type);
  if (type == "yarn") {
    const nn::YarnScaling yarn{.factor = factor,
                               .original_length = entries.whole(key + "original_context_length", c.max_length),
                               .beta_fast = entries.number(key + "yarn_beta_fast", 32),
                               .beta_slow = entries.number(key + "yarn_beta_slow", 1)};
    return scales ? nn::RotaryScaling(yarn) : nn::RotaryScaling();
  }
  return scales ? nn::RotaryScaling(nn::LinearScaling{factor}) : nn::RotaryScaling();
}

}  // namespace tape::models::gguf
