#pragma once

#include <string>
#include <vector>

#include "../../nn/adapters.h"
#include "../folders/folder.h"
#include "../folders/layout.h"

/// Adapters in the folders of the package peft (`adapter_config.json`, `adapter_model.safetensors`), both ways.
///
/// Where a folder keeps several Linear layers of ours in one matrix (GPT-2's c_attn is query, key and value), peft has
/// one adapter for all of them: ours then share one A.
namespace tape::models {

/// nn::add_adapter, and what keeps it one that peft has: a target brings with it the layers that the folder keeps in
/// one matrix with it, which get one A. Layers in the modules `except` have none. All or nothing.
std::vector<std::string> add_adapter(nn::Module& model, const Layout& layout, const std::string& name,
                                     const nn::LoraOptions& options, const std::vector<std::string>& targets,
                                     const std::vector<std::string>& except = {});

struct AdapterNote {
  std::string base_model = {};  ///< folder or name of the model below, which peft looks for
  std::string task = {};        ///< peft's task_type: "CAUSAL_LM", "SEQ_CLS", "SEQ_2_SEQ_LM"; "": none
  /// The config.json of the model's class, which is written beside: peft's own files have no place for the names of
  /// labels, nor for their number. "": none is written.
  std::string config = {};
};

/// Writes the adapters of this name. What of the model is trained besides (a new head) is written whole, as peft's
/// modules_to_save. Error (config) where there is none of this name, while adapters are merged, for layers of one
/// matrix that do not share their A, and where the own weight or bias of a layer with an adapter is trained; (io).
void save_adapter(const std::string& folder, nn::Module& model, const Layout& layout, const std::string& name,
                  const AdapterNote& note = {});
void save_adapter(const std::string& folder, const AnyModel& model, const std::string& name,
                  const AdapterNote& note = {});

/// Adds the adapters of a folder to its model under a name, and makes them the active ones; modules_to_save take the
/// place of the model's own values. What peft reads onto a base model that it changes (PiSSA, OLoRA) becomes a plain
/// adapter of twice the rank on the model as it is. All or nothing. Error (format) or (config) naming the file, and the
/// key of what is not computed here; (config) where the name is taken or adapters are merged; (io).
void load_adapter(const std::string& folder, nn::Module& model, const Layout& layout,
                  const std::string& name = "default");
void load_adapter(const std::string& folder, const AnyModel& model, const std::string& name = "default");

/// The values that load_adapter() would give a model of this layout, by its names; it is not looked at. Error (config)
/// for PiSSA and OLoRA, whose values depend on the model's.
nn::StateDict adapter_values(const std::string& folder, const Layout& layout, const std::string& name = "default");

/// Whether a folder holds adapters and no model; a config.json may lie beside them.
bool is_adapter_folder(const std::string& folder);
/// Where the model below them lies: what "base_model_name_or_path" names, as it stands there or beside the folder.
/// Error (config) naming the file where neither is a folder with a model.
std::string base_model_folder(const std::string& folder);
/// That model with the adapters, active under the name "default"; `base` is another folder of the model below.
///
/// An encoder becomes a model of the class that the config.json beside the adapters names; without one, of that which
/// the task asks for: "SEQ_CLS" and "TOKEN_CLS" those with labels (as many as the head that is saved has, LABEL_0 and
/// so on unless the model below names as many), "FEATURE_EXTRACTION" the encoder alone. What it has and the model below
/// has not is among the modules_to_save. Error (format) naming the tensors where it is not.
AnyModel load_with_adapter(const std::string& folder, const std::string& base = "");

}  // namespace tape::models
