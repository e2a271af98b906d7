#pragma once

#include "../experiments/activations.h"

namespace tape::inspect {

/// A head of an attention module to ablate: its weights become 0 for all keys.
struct HeadAblation {
  std::string module = {};
  int64_t head = 0;
};

/// The main tensors of one run of a study, for comparison with runs of other models, of checkpoints or without a head.
struct Frame {
  struct Attention {
    std::string module = {};
    Tensor weights = {};  ///< [H, Tq, Tk], of the last call
  };
  std::string name = {};
  std::vector<Study::Text> texts = {};
  bool corrupted = false;                 ///< deliberately reads other texts than the page, with as many tokens
  std::vector<PageOutput> outputs = {};   ///< detached
  std::vector<Attention> attention = {};  ///< of modules that attend between the texts, in the order of their calls
};

/// Runs a study in a Composed scope, as a page does: values equal those of a page of the same study, bit for bit.
///
/// cut: everything after the attention is computed from weights of 0. Throws Error (config) if the study has
/// no outputs, the module has no attention weights for a single text (the message lists those that have) or the head
/// does not exist.
Frame record_frame(const Study& study, const std::string& name, const std::optional<HeadAblation>& cut = {});

/// The same with an activation of another run inserted, for example one of the clean run in the corrupted run
/// (run_activation_patching() in patching.h computes the effects of all). Also throws what PatchedActivations throws.
Frame record_frame(const Study& study, const std::string& name, const Activations& from, const ActivationPatch& patch);

}  // namespace tape::inspect
