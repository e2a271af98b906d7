#pragma once

#include <string>
#include <vector>

#include "tape.h"

namespace tape {

/// The recorded ancestors of the tensors, including leaves, in recording order, starting at `earliest`.
std::vector<const Node*> nodes_behind(const Tensors& outputs, uint64_t earliest = 0);

/// Throws Error (graph) `operation: ...` if the loss depends on nothing that requires gradients, or if a backward freed
/// its tape.
void check_recorded(const char* operation, const Tensor& loss);

/// Path of the module that recorded the node; "" outside of modules and without a Trace scope.
std::string module_of(const Node& node);

/// Names a leaf in messages and graph drawings, as a module does for its parameters. Does nothing for a tensor that
/// never required gradients.
void name_leaf(const Tensor& leaf, const std::string& name);
/// The name set by name_leaf(), or "".
std::string leaf_name(const Tensor& leaf);

/// Summary of a tensor's values. min, max and mean cover the finite values only.
struct ValueSummary {
  int64_t count = 0, nan = 0, infinite = 0;
  double min = 0, max = 0, mean = 0;  ///< 0 if no value is finite
};
ValueSummary summarize(const Tensor& tensor);
/// "-0.31 .. 2.5, mean 0.12, 3 NaN"; "empty" if there are no values.
std::string to_string(const ValueSummary& summary);

/// Statistics over all defined tensors of the list.
double bytes_of(TensorList tensors);

}  // namespace tape
