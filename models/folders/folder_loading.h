#pragma once

#include "../../base/check.h"
#include "layout.h"
#include "weights.h"

/// What the loaders of all classes of model share.
namespace tape::models {

/// Runs `body`; an Error that leaves it names the file whose content is at fault, once.
template <class F>
auto naming(const std::string& path, F&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(path + ": ")) throw;
    raise(error.kind(), "{}: {}", path, error.what());
  }
}

/// Checks the weights against `layout()`, calls `make()` and gives the model made their values. A file of doubles makes
/// a model of doubles. `prefix` is that of the base model in a model with a head, which names in the file may lack.
template <class MakeLayout, class Make>
auto made_and_filled(const std::string& config_file, const Weights& weights, MakeLayout&& layout,
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
/// The same of a class with its configuration.
template <class M, class Config, class MakeLayout>
std::unique_ptr<M> filled(const std::string& config_file, const Config& config, const Weights& weights,
                          MakeLayout&& layout, const std::string& prefix = "") {
  return made_and_filled(config_file, weights, layout, prefix, [&] { return std::make_unique<M>(config); });
}

/// The tensors of a base model alone, whose names may have the prefix that they have in a model with a head.
/// transformers takes it away by the same rule.
inline std::map<std::string, Tensor> without_prefix(std::map<std::string, Tensor> tensors, const std::string& prefix) {
  std::map<std::string, Tensor> renamed;
  for (auto& [name, tensor] : tensors) {
    const std::string rest = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    renamed.emplace(tensors.contains(rest) ? name : rest, tensor);  // both at once: the other is unexpected
  }
  return renamed;
}

/// Whether a folder could hold that many layers: each has tensors of its own. Names are made for each before they are
/// compared, so a number out of the air must stop here.
inline void check_layers(const std::string& config_file, int64_t layers, const Weights& weights) {
  check_at_least_one(config_file, {{"layers", layers}});
  if (layers > std::ssize(weights.tensors))
    raise(ErrorKind::format, "{}: {} layers, but {} holds {} tensors", config_file, layers, weights.where,
          weights.tensors.size());
}

}  // namespace tape::models
