#include "models/hugging_face/common.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tape::models::hugging_face {
namespace {

using nn::ActivationKind;

/// What transformers calls otherwise than we do; of several names for one kind the first is written.
constexpr std::array<std::pair<std::string_view, ActivationKind>, 3> kOtherNames{
    {{"gelu_new", ActivationKind::gelu_tanh},
     {"gelu_pytorch_tanh", ActivationKind::gelu_tanh},
     {"swish", ActivationKind::silu}}};

/// Whether transformers knows our name.
bool shared_name(ActivationKind kind) { return kind != ActivationKind::gelu_tanh; }

}  // namespace

ActivationKind read_activation(const ConfigReader& config, const char* key, ActivationKind otherwise) {
  const std::string name = config.text(key, activation_name(otherwise));
  for (const auto& [other, kind] : kOtherNames)
    if (name == other) return kind;
  for (const auto& [own, kind] : nn::activation_names())
    if (name == own && shared_name(kind)) return kind;
  config.wrong(key, "one of relu, gelu, gelu_new, gelu_pytorch_tanh, silu, swish, tanh, sigmoid");
}

std::string activation_name(ActivationKind kind) {
  if (shared_name(kind)) return std::string(nn::to_string(kind));
  const auto row =
      std::find_if(kOtherNames.begin(), kOtherNames.end(), [&](const auto& r) { return r.second == kind; });
  return std::string(row->first);
}

nlohmann::ordered_json begin_config(const char* architecture, const char* model_type, DType dtype) {
  // "torch_dtype" is how releases before 4.56 call "dtype".
  const char* name = dtype == f64 ? "float64" : "float32";
  return {{"architectures", {architecture}}, {"model_type", model_type}, {"dtype", name}, {"torch_dtype", name}};
}

}  // namespace tape::models::hugging_face
