#pragma once

#include "../nn/module/hook_scope.h"
#include "study.h"

namespace tape::inspect {

/// What of one run is put into another one of the same model: a module's output [1, T, C], or what one head of an
/// attention module gives its output projection, D = C / H columns; at one token, or at all.
struct ActivationPatch {
  std::string module = {};
  std::optional<int64_t> head = {};
  std::optional<int64_t> position = {};  ///< of the text that the module reads; all where not given
};

/// "decoder.layers.1.cross_attention:3@2"
std::string patch_name(const ActivationPatch& patch);

/// What the modules of a study's model give in a run of it: that of each call, and of each attention what its heads
/// give.
class Activations {
 public:
  /// Runs the study, and records nothing of it. Errors: (config) for a study without a module or texts; the model's
  /// own.
  explicit Activations(const Study& study);

  struct Module {
    nn::Module* module = nullptr;
    std::string path = {};
    Tensors outputs = {};              ///< [1, T, C] each, one a call
    nn::Module* projection = nullptr;  ///< of an attention module: what reads its heads, side by side
    Tensors heads = {};                ///< [1, T, H D] each
    int64_t head_count = 0;            ///< 0 where it is no attention module
    size_t text = 0;                   ///< whose tokens the rows are
    bool of_tokens = false;            ///< whether there is a row a token
  };
  /// Those that gave something, in the order of the model's named_modules().
  const std::vector<Module>& modules() const { return modules_; }
  /// What the study's outputs were.
  const std::vector<double>& values() const { return values_; }
  /// Errors: (config) for a module that gave nothing, a head that it has not, and a position outside its text or of a
  /// module whose output is not one row a token.
  const Module& module_of(const ActivationPatch& patch) const;
  /// How many tokens the rows of a module's output stand for.
  int64_t tokens_of(const Module& module) const;

 private:
  std::vector<Module> modules_;
  std::vector<double> values_;
  std::vector<Study::Text> texts_;
};

/// While in scope, runs of the model have what the patch says from another run, call by call.
class PatchedActivations {
 public:
  /// The activations must live on. Errors of Activations::module_of().
  PatchedActivations(const Activations& from, const ActivationPatch& patch);

 private:
  nn::HookScope hooks_;
};

}  // namespace tape::inspect
