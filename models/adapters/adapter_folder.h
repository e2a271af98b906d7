#pragma once

#include <string>
#include <vector>

#include "../../nn/adapters.h"
#include "../folders/folder.h"
#include "../folders/layout.h"

/// Reads and writes adapters in folders of the peft package (`adapter_config.json`, `adapter_model.safetensors`).
///
/// Where a folder packs several of our Linear layers into one matrix (GPT-2's c_attn is query, key and value), peft has
/// one adapter for all of them, so ours share one A.
namespace tape::models {

/// Like nn::add_adapter, restricted to adapters that peft can represent: a target also selects the layers that the
/// folder packs into the same matrix, and they share one A. Layers in the modules `except` get none. All or nothing.
std::vector<std::string> add_adapter(nn::Module& model, const Layout& layout, const std::string& name,
                                     const nn::LoraOptions& options, const std::vector<std::string>& targets,
                                     const std::vector<std::string>& except = {});

/// What save_adapter() writes besides the adapters.
struct AdapterMetadata {
  std::string base_model = {};  ///< folder or name of the base model, where peft looks for it
  std::string task = {};        ///< peft's task_type: "CAUSAL_LM", "SEQ_CLS", "SEQ_2_SEQ_LM"; "": none
  /// config.json of the model's class, also written to the folder because peft's own files store neither label names
  /// nor their count. "": not written.
  std::string config = {};
};

/// Writes the adapters called `name`. Other trainable parameters (a new head) are written in full as peft's
/// modules_to_save. Throws Error (config) if there are no such adapters, if adapters are merged, if layers of one
/// matrix do not share their A, or if the weight or bias of a layer with an adapter is trainable; (io).
void save_adapter(const std::string& folder, nn::Module& model, const Layout& layout, const std::string& name,
                  const AdapterMetadata& note = {});
/// Same with the layout of the model's folder (layout_of()).
void save_adapter(const std::string& folder, const AnyModel& model, const std::string& name,
                  const AdapterMetadata& note = {});

/// Throws Error (config) naming the folder and an active adapter that is not merged: a model's own folder has no place
/// for it, so the model read from there would compute something else.
void check_merged(const nn::Module& model, const std::string& folder);

/// Adds the adapters of a folder to its model under a name and makes them active; modules_to_save replace the model's
/// own values. Adapters that change the base model in peft (PiSSA, OLoRA) become plain adapters of twice the rank on
/// the unchanged model. All or nothing. Throws Error (format) or (config) naming the file and any unsupported key;
/// (config) if the name is taken or adapters are merged; (io).
void load_adapter(const std::string& folder, nn::Module& model, const Layout& layout,
                  const std::string& name = "default");
/// Same with the layout of the model's folder (layout_of()).
void load_adapter(const std::string& folder, const AnyModel& model, const std::string& name = "default");

/// The values that load_adapter() would give a model of this layout, by its names, without reading the model. Throws
/// Error (config) for PiSSA and OLoRA, whose values depend on the model's.
nn::StateDict adapter_values(const std::string& folder, const Layout& layout, const std::string& name = "default");

/// Whether a folder contains adapters but no model; it may also have a config.json.
bool is_adapter_folder(const std::string& folder);
/// Folder of the base model: the path in "base_model_name_or_path", either as it is or relative to the folder. Throws
/// Error (config) naming the file if neither is a folder with a model.
std::string base_model_folder(const std::string& folder);
/// Loads the base model with the adapters, active under the name "default". `base` overrides the base model's folder.
///
/// An encoder becomes a model of the class in the adapter folder's config.json. Without one, the task decides:
/// "SEQ_CLS" and "TOKEN_CLS" give classifiers (with as many labels as the saved head; named LABEL_0 and so on unless
/// the base model has as many), "FEATURE_EXTRACTION" the encoder only. Tensors that the base model lacks must be in
/// modules_to_save, or Error (format) names them.
AnyModel load_with_adapter(const std::string& folder, const std::string& base = "");

}  // namespace tape::models
