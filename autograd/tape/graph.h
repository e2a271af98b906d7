#pragma once

#include <string>
#include <vector>

#include "tape.h"

namespace tape {

/// The recorded nodes that the tensors were made by, leaves included, in the order recorded: from `earliest` on.
std::vector<const Node*> nodes_behind(const Tensors& outputs, uint64_t earliest = 0);

/// Error (graph) `operation: ...` for a loss that was made of nothing that needs gradients, or whose tape a backward
/// freed.
void check_recorded(const char* operation, const Tensor& loss);

/// The module a node was recorded in: "" outside of modules, and where no Trace scope was open.
std::string module_of(const Node& node);

/// Names a leaf in messages and pictures, as a module does with its parameters. Nothing for a tensor that never
/// required gradients.
void name_leaf(const Tensor& leaf, const std::string& name);
/// The name that name_leaf() gave; "" for none.
std::string leaf_name(const Tensor& leaf);

/// What a tensor's values are like. Sizes are those of finite values.
struct ValueSummary {
  int64_t count = 0, nan = 0, infinite = 0;
  double min = 0, max = 0, mean = 0;  ///< of the finite values; 0 where there is none
};
ValueSummary summarize(const Tensor& tensor);
/// "-0.31 .. 2.5, mean 0.12, 3 NaN"; "empty" where there are no values.
std::string to_string(const ValueSummary& summary);

/// Of the values of all tensors that are defined.
double bytes_of(TensorList tensors);

}  // namespace tape
