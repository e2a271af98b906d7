#pragma once

#include "../../nn/module/hook_scope.h"
#include "study.h"

namespace tape::inspect {

/// Selects an activation of one run to insert into another run of the same model: a module's output [1, T, C], or the
/// D = C / H columns that one head of an attention module passes to its output projection; at one token or at all.
struct ActivationPatch {
  std::string module = {};
  std::optional<int64_t> head = {};
  std::optional<int64_t> position = {};  ///< in the text that the module reads; all positions if unset
};

/// Returns a display name such as "decoder.layers.1.cross_attention:3@2".
std::string patch_name(const ActivationPatch& patch);

/// Outputs of a model's modules in one run of a study: one per call and, for attention modules, the heads' outputs.
class Activations {
 public:
  /// Runs the study without recording a tape. Throws Error (config) if the study has no module or no texts, and
  /// whatever the model throws.
  explicit Activations(const Study& study);

  struct Module {
    nn::Module* module = nullptr;
    std::string path = {};
    Tensors outputs = {};              ///< [1, T, C] each, one per call
    nn::Module* projection = nullptr;  ///< output projection of an attention module, which reads the joined heads
    Tensors heads = {};                ///< [1, T, H D] each
    int64_t head_count = 0;            ///< 0 if this is not an attention module
    size_t text = 0;                   ///< index of the text whose tokens the rows correspond to
    bool of_tokens = false;            ///< whether there is one row per token
  };
  /// Modules that returned an output, in the order of the model's named_modules().
  const std::vector<Module>& modules() const { return modules_; }
  /// Values of the study's outputs.
  const std::vector<double>& values() const { return values_; }
  /// Throws Error (config) if the module returned no output, the head does not exist, or the position is outside the
  /// text or given for a module whose output does not have one row per token.
  const Module& module_of(const ActivationPatch& patch) const;
  /// Number of tokens that the rows of a module's output correspond to.
  int64_t tokens_of(const Module& module) const;

 private:
  std::vector<Module> modules_;
  std::vector<double> values_;
  std::vector<Study::Text> texts_;
};

/// While in scope, replaces the selected activation in the model's runs with that of another run, call by call.
class PatchedActivations {
 public:
  /// `from` must outlive this object. Throws what Activations::module_of() throws.
  PatchedActivations(const Activations& from, const ActivationPatch& patch);

 private:
  nn::HookScope hooks_;
};

}  // namespace tape::inspect
