#include "inspect/explorer/layer_kind.h"

#include <nlohmann/json.hpp>

#include "autograd/ops/norm/norm.h"
#include "inspect/explorer/tensor_json.h"
#include "nn/activation.h"
#include "nn/norm/layer_norm.h"
#include "nn/norm/rms_norm.h"
#include "nn/position/rotary.h"

namespace tape::inspect {
namespace {

using Json = nlohmann::ordered_json;

Tensor without_history(const Tensor& tensor) { return tensor.defined() ? tensor.detach() : Tensor(); }

LayerKind kind_of(const nn::LayerNorm& norm) {
  return {.list = "layer_norms",
          .recompute =
              [&norm](const Tensor& x) {
                return layer_norm(x, norm.weight.detach(), without_history(norm.bias), norm.eps());
              },
          .settings = [&norm]() -> Json {
            return {{"eps", norm.eps()},
                    {"weight", tensor_json(norm.weight.detach())},
                    {"bias", tensor_json(without_history(norm.bias))}};
          }};
}

LayerKind kind_of(const nn::RMSNorm& norm) {
  return {.list = "rms_norms",
          .recompute = [&norm](const Tensor& x) { return rms_norm(x, norm.weight.detach(), norm.eps()); },
          .settings = [&norm]() -> Json {
            return {{"eps", norm.eps()}, {"weight", tensor_json(norm.weight.detach())}, {"bias", nullptr}};
          }};
}

LayerKind kind_of(nn::Activation& activation) {
  return {.list = "activations",
          .recompute = [&activation](const Tensor& x) { return activation.forward(x); },
          .settings = [&activation]() -> Json {
            return {{"function", nn::to_string(activation.kind())}};
          }};
}

LayerKind kind_of(nn::Rotary& rotary) {
  return {.list = "rotaries",
          .recompute = [&rotary](const Tensor& x) { return rotary.forward(x); },
          .settings = [&rotary]() -> Json {
            const bool halves = rotary.options().pairing == nn::RotaryPairing::halves;
            return {{"width", rotary.head_width()},
                    {"turned", rotary.rotary_dim()},
                    {"theta", rotary.options().theta},
                    {"pairing", halves ? "halves" : "interleaved"}};
          },
          .first_call = true};
}

}  // namespace

std::optional<LayerKind> layer_kind(nn::Module& module) {
  if (const auto* norm = dynamic_cast<nn::LayerNorm*>(&module)) return kind_of(*norm);
  if (const auto* norm = dynamic_cast<nn::RMSNorm*>(&module)) return kind_of(*norm);
  if (auto* activation = dynamic_cast<nn::Activation*>(&module)) return kind_of(*activation);
  auto* const rotary = dynamic_cast<nn::Rotary*>(&module);
  // The page computes the frequencies from theta only.
  if (rotary && std::holds_alternative<std::monostate>(rotary->options().scaling)) return kind_of(*rotary);
  return std::nullopt;
}

}  // namespace tape::inspect
