#include <bit>
#include <cmath>

#include "autograd/create.h"
#include "models/onnx/layers.h"

namespace tape::models::onnx {
namespace {

Value of_numbers(Graph& g, const std::vector<double>& values) {
  return g.constant(from_vector(values, {std::ssize(values)}).to(f32));
}

/// Seven leading bits of a frequency: products with positions below 2^17 are exact in f32.
double leading_bits(double w) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(static_cast<float>(w)) & ~0x1FFFFU);
}

/// Cosine and sine of t w. In f32 the product t w would lose as many digits as t has. So w = h + l, where h has few
/// bits: t h is exact, t l is small, cos(a + b) = cos a cos b - sin a sin b, sin(a + b) = sin a cos b + cos a sin b.
AttentionContext::RotaryAngles apply_rotary(Graph& g, const Value& t, const std::vector<double>& w) {
  std::vector<double> high, low;
  for (const double one : w) {
    high.push_back(leading_bits(one));
    low.push_back(one - high.back());
  }
  const Value a = g.multiply(t, of_numbers(g, high)), b = g.multiply(t, of_numbers(g, low));
  const Value cos_a = g.op("Cos", {a}), sin_a = g.op("Sin", {a}), cos_b = g.op("Cos", {b}), sin_b = g.op("Sin", {b});
  return {g.subtract(g.multiply(cos_a, cos_b), g.multiply(sin_a, sin_b)),
          g.add(g.multiply(sin_a, cos_b), g.multiply(cos_a, sin_b))};
}

/// Dynamic scaling, whose frequencies depend on the last position: base^(-2i/R) with the base of DynamicScaling.
AttentionContext::RotaryAngles apply_rotary(Graph& g, const Value& t, const nn::RotaryFrequencies& f,
                                            const nn::DynamicScaling& scaling) {
  const double original = static_cast<double>(scaling.original_length), columns = static_cast<double>(f.rotary_dim);
  const Value length = g.add(g.op("ReduceMax", {t}, {{"keepdims", int64_t{0}}}), g.number(1));
  const Value longer = g.divide(g.op("Max", {length, g.number(original)}), g.number(original));
  const Value stretched = g.subtract(g.multiply(longer, g.number(scaling.factor)), g.number(scaling.factor - 1));
  const Value base = g.multiply(g.op("Pow", {stretched, g.number(columns / (columns - 2))}), g.number(f.theta));
  std::vector<double> exponents;
  for (int64_t i = 0; i < f.rotary_dim; i += 2) exponents.push_back(-static_cast<double>(i) / columns);
  const Value angle = g.multiply(t, g.op("Pow", {base, of_numbers(g, exponents)}));
  return {g.op("Cos", {angle}), g.op("Sin", {angle})};
}

}  // namespace

const AttentionContext::RotaryAngles& AttentionContext::turn(Graph& g, const nn::Rotary& rotary) {
  const nn::RotaryFrequencies frequencies{rotary.options().theta, rotary.rotary_dim(), rotary.options().scaling};
  for (const auto& [made, turn] : turns_)
    if (made == frequencies) return turn;
  const GraphScope whole(g);
  // [T, 1], or [B, 1, T, 1] if each text has its own positions.
  const Value t =
      g.cast(g.unsqueeze(positions_, each_text_ ? std::vector<int64_t>{1, 3} : std::vector<int64_t>{1}), f32);
  const auto* dynamic = std::get_if<nn::DynamicScaling>(&frequencies.scaling);
  RotaryAngles turn = dynamic ? apply_rotary(g, t, frequencies, *dynamic) : apply_rotary(g, t, frequencies.inverse(0));
  if (const double factor = frequencies.attention_factor(); factor != 1)
    turn = {g.multiply(turn.cosine, g.number(factor)), g.multiply(turn.sine, g.number(factor))};
  turns_.push_back({frequencies, turn});
  return turns_.back().second;
}

}  // namespace tape::models::onnx
