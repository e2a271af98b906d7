#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lora.h"

/// Adapters of all Linear layers of a model at once (nn/lora.h says what one is):
///
///     nn::add_adapter(model, "default", {.rank = 8, .alpha = 16}, {"query", "value"});
///     nn::train_adapters_only(model);
namespace tape::nn {

class Linear;

/// Every Linear in the module with its path, in the module's order.
std::vector<std::pair<std::string, Linear*>> named_linears(Module& model);

/// The Linear layers whose path fits one of the targets, in the model's order: "query" and "feed_forward.linear1" are
/// ends of paths, "encoder.layers.0" is a module that the layer lies in, * stands for any letters and "all-linear" for
/// every layer. Layers in the modules `except` are none of them. Error (config) for a target that fits none, naming the
/// ends that there are.
std::vector<std::string> adapter_places(Module& model, const std::vector<std::string>& targets,
                                        const std::vector<std::string>& except = {});

/// Adds one to each of these layers, by their paths: all or none. Error (config) for a path of no Linear, while any
/// adapters are merged, and as Linear::add_adapter.
void add_adapters(Module& model, const std::string& name,
                  const std::vector<std::pair<std::string, LoraOptions>>& layers);

/// Adds one to each of adapter_places(), and gives their paths. All or none; errors as these two.
std::vector<std::string> add_adapter(Module& model, const std::string& name, const LoraOptions& options,
                                     const std::vector<std::string>& targets);

/// The names of all adapters in the model, in the order they were added.
std::vector<std::string> adapter_names(Module& model);

/// Makes the adapters of this name the only ones that take part; "" for none. Error (config) where there is none of
/// this name, naming those there are, and while adapters are merged.
void activate_adapter(Module& model, const std::string& name);
/// Error (config) where there is none of this name.
void remove_adapter(Module& model, const std::string& name);

/// Gives the weights what the active adapters change, and takes it back (Linear::merge_adapters). Error (config) for a
/// weight that is tied to an embedding's table, which would be changed with it.
void merge_adapters(Module& model);
void unmerge_adapters(Module& model);

/// Lets gradients go into the active adapters' parameters alone. A head that is new is unfrozen by hand.
void train_adapters_only(Module& model);

/// The adapters of this name, by the path of their Linear. Error (config) where there is none.
std::vector<std::pair<std::string, Lora*>> adapters_of(Module& model, const std::string& name);

/// Their parameters, by their names in the model.
StateDict adapter_state(Module& model, const std::string& name);

}  // namespace tape::nn
