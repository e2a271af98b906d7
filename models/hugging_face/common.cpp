#include "models/hugging_face/common.h"

#include <array>
#include <utility>

namespace tape::models::hugging_face {
namespace {

using nn::ActivationKind;

/// Of several names for one kind the first is written.
constexpr std::array<std::pair<const char*, ActivationKind>, 8> kActivations{
    {{"relu", ActivationKind::relu},
     {"gelu", ActivationKind::gelu},
     {"gelu_new", ActivationKind::gelu_tanh},
     {"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
     {"silu", ActivationKind::silu},
     {"swish", ActivationKind::silu},
     {"tanh", ActivationKind::tanh},
     {"sigmoid", ActivationKind::sigmoid}}};

}  // namespace

ActivationKind read_activation(const ConfigReader& config, const char* key, const char* otherwise) {
  const std::string name = config.text(key, otherwise);
  for (const auto& [known, kind] : kActivations)
    if (name == known) return kind;
  config.wrong(key, "one of relu, gelu, gelu_new, gelu_pytorch_tanh, silu, swish, tanh, sigmoid");
}

std::string activation_name(ActivationKind kind) {
  for (const auto& [known, other] : kActivations)
    if (kind == other) return known;
  raise(ErrorKind::config, "config.json: no name for activation {}", nn::to_string(kind));
}

nlohmann::ordered_json begin_config(const char* architecture, const char* model_type, DType dtype) {
  // "torch_dtype" is how releases before 4.56 call "dtype".
  const char* name = dtype == f64 ? "float64" : "float32";
  return {{"architectures", {architecture}}, {"model_type", model_type}, {"dtype", name}, {"torch_dtype", name}};
}

}  // namespace tape::models::hugging_face
