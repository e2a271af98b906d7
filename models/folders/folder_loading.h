#pragma once

#include "../../base/check.h"
#include "layout.h"
#include "weights.h"

/// Shared by the loaders of all model classes.
namespace tape::models {

/// Runs `body` and adds the file's name to an Error it throws, unless already present or the device is to blame.
template <class F>
auto naming(const std::string& path, F&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::device || std::string_view(error.what()).starts_with(path + ": ")) throw;
    raise(error.kind(), "{}: {}", path, error.what());
  }
}

/// Checks the weights against `layout()`, calls `make()` and sets the values of the model it returns. An f64 file makes
/// an f64 model. `prefix` is the base model's prefix in a model with a head, which names in the file may lack.
template <class MakeLayout, class Make>
auto make_and_load(const std::string& config_file, const Weights& weights, MakeLayout&& layout,
                   const std::string& prefix, Make&& make) {
  const Layout names = naming(config_file, layout);
  const nn::StateDict state = names.from_file(names.with_prefix(weights.tensors, prefix), weights.where);
  auto model = naming(config_file, make);
  for (const auto& [name, tensor] : state)
    if (tensor.dtype() == f64) {
      model->to(f64);
      break;
    }
  naming(weights.where, [&] { model->load_state_dict(state); });
  model->eval();
  return model;
}
/// The same for a class with its configuration.
template <class M, class Config, class MakeLayout>
std::unique_ptr<M> filled(const std::string& config_file, const Config& config, const Weights& weights,
                          MakeLayout&& layout, const std::string& prefix = "") {
  return make_and_load(config_file, weights, layout, prefix, [&] { return std::make_unique<M>(config); });
}

/// Removes the prefix that a base model's tensors may have from a model with a head, by transformers' rule.
inline std::map<std::string, Tensor> without_prefix(std::map<std::string, Tensor> tensors, const std::string& prefix) {
  std::map<std::string, Tensor> renamed;
  for (auto& [name, tensor] : tensors) {
    const std::string rest = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    renamed.emplace(tensors.contains(rest) ? name : rest, tensor);  // if both are present, the other is unexpected
  }
  return renamed;
}

/// Checks that the file could have that many layers, each with tensors of its own. A layout has names for each layer,
/// so an absurd count must be rejected before it is made.
inline void check_layers(const std::string& config_file, int64_t layers, const Weights& weights) {
  check_at_least_one(config_file, {{"layers", layers}});
  if (layers > std::ssize(weights.tensors))
    raise(ErrorKind::format, "{}: {} layers, but {} has {} tensors", config_file, layers, weights.where,
          weights.tensors.size());
}

}  // namespace tape::models
