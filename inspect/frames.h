#pragma once

#include "activations.h"

namespace tape::inspect {

/// A head of an attention module that says nothing: its weights are 0 for all keys.
struct HeadCut {
  std::string module = {};
  int64_t head = 0;
};

/// One run of a study in a few tensors, to be laid beside others: of another model, of a checkpoint, of a head cut.
struct Frame {
  struct Attention {
    std::string module = {};
    Tensor weights = {};  ///< [H, Tq, Tk], of its last call
  };
  std::string name = {};
  std::vector<Study::Text> texts = {};
  bool corrupted = false;                 ///< reads other texts than the page on purpose, of as many tokens
  std::vector<PageOutput> outputs = {};   ///< without history
  std::vector<Attention> attention = {};  ///< of modules that attend between the texts, in the order of their calls
};

/// Runs a study in a Composed scope, as a page does: numbers are those of a page of the same study, bit for bit.
///
/// cut: all that follows is computed from weights of 0, as Patch lets it be. Errors: (config) for a study without
/// outputs, a module that gave no attention weights of one text (with those that did) and a head that it has not.
Frame frame_of(const Study& study, const std::string& name, const std::optional<HeadCut>& cut = {});

/// The same with an activation of another run, such as of the clean one in the corrupted (patch_all() in patching.h has
/// the effects of all). Errors of PatchedActivations beside.
Frame frame_of(const Study& study, const std::string& name, const Activations& from, const ActivationPatch& patch);

}  // namespace tape::inspect
