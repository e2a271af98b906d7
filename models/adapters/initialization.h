#pragma once

#include "../folders/layout.h"
#include "config.h"

namespace tape::models {

/// Adapters of a folder, by our layer paths, and their tensors; `layout` is the base model's, in the folder's names.
struct AdapterFile {
  std::map<std::string, nn::LoraOptions> adapters;
  AdapterTensors tensors;
  Layout layout = {};
};

/// Turns adapters that peft applies to a changed base model, W - s B0 A0, into plain adapters of twice the rank on the
/// unchanged one: W - s B0 A0 + s B A = W + s [B, -B0] [A; A0]. peft's own conversion
/// (path_initial_model_for_weight_conversion) gives the same. Throws Error (format) naming the tensor if peft has no B0
/// and A0 for a layer of this shape.
void undo_base_change(AdapterFile& file, BaseChange change, const nn::StateDict& model, const Layout& layout,
                      const std::string& where);

}  // namespace tape::models
