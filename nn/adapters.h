#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lora.h"

/// Adds, selects and merges the adapters of all Linear layers of a model (nn/lora.h defines an adapter):
///
///     nn::add_adapter(model, "default", {.rank = 8, .alpha = 16}, {"query", "value"});
///     nn::train_adapters_only(model);
namespace tape::nn {

class Linear;

/// Returns every Linear layer of the module with its path, in module order.
std::vector<std::pair<std::string, Linear*>> named_linears(Module& model);

/// Returns the paths of the Linear layers that match any of the targets, in model order. A target is the end of a path
/// ("query", "feed_forward.linear1"), the path of an enclosing module ("encoder.layers.0"), a pattern in which *
/// matches any characters, or "all-linear". Layers inside the modules `except` are skipped. Throws Error (config) if a
/// target matches no layer; the message lists the names that exist.
std::vector<std::string> find_adapter_targets(Module& model, const std::vector<std::string>& targets,
                                              const std::vector<std::string>& except = {});

/// Adds an adapter to each of the layers at these paths, or to none if one fails. Throws Error (config) if a path is
/// not a Linear layer, if any adapter is merged, and as Linear::add_adapter().
void add_adapters(Module& model, const std::string& name,
                  const std::vector<std::pair<std::string, LoraOptions>>& layers);

/// Adds an adapter to every layer that find_adapter_targets() returns, and returns their paths. Same guarantees and
/// errors.
std::vector<std::string> add_adapter(Module& model, const std::string& name, const LoraOptions& options,
                                     const std::vector<std::string>& targets);

/// Returns the names of all adapters of the model, in the order in which they were added.
std::vector<std::string> adapter_names(Module& model);

/// Activates the adapters of this name and deactivates all others; "" deactivates all. Throws Error (config) if the
/// model has no adapter of this name (the message lists the names) or if adapters are merged.
void activate_adapter(Module& model, const std::string& name);
/// Removes the adapters of this name. Throws Error (config) if there are none.
void remove_adapter(Module& model, const std::string& name);

/// Merges the active adapters into the weights (Linear::merge_adapters()). Throws Error (config) if a weight is tied to
/// an embedding table, which would change as well.
void merge_adapters(Module& model);
/// Restores the original weights bit for bit; has no effect if none is merged.
void unmerge_adapters(Module& model);

/// Freezes everything except the parameters of the active adapters. Unfreeze a newly added head yourself.
void train_adapters_only(Module& model);

/// Returns the adapters of this name by the path of their Linear layer. Throws Error (config) if there are none.
std::vector<std::pair<std::string, Lora*>> adapters_of(Module& model, const std::string& name);

/// Returns the parameters of these adapters by their names in the model.
StateDict adapter_state(Module& model, const std::string& name);

}  // namespace tape::nn
