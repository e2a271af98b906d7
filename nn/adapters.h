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

/// Adds one to every Linear whose path fits one of the targets: "query" and "feed_forward.linear1" are ends of paths,
/// "encoder.layers.0" is a module that the layer lies in, * stands for any letters and "all-linear" for every layer.
/// Gives their paths, in the model's order. Error (config) for a target that fits none, naming the ends that there are,
/// and as Linear::add_adapter.
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
