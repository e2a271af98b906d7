#pragma once

#include "activations.h"

namespace tape::inspect {

/// The outputs after restoring each of a group of modules from the clean run in the corrupted run.
struct PatchGrid {
  std::string name = {};                  ///< "decoder.layers.*.cross_attention"
  std::vector<std::string> modules = {};  ///< one per row
  size_t text = 0;                        ///< index of the text whose tokens are the columns; the last column is all
  int64_t heads = 0;                      ///< if not 0, the columns are heads instead, each at all tokens
  /// [row][column][output]
  std::vector<std::vector<std::vector<double>>> values = {};
};

/// Activation patching (Meng et al. 2022, "Locating and Editing Factual Associations in GPT", section 2; with other
/// tokens as corruption, as in Zhang and Nanda 2024): a model reads a corrupted text, and one activation is replaced
/// with that of the clean run. Where that restores the clean output, the relevant information passes through it.
struct Patching {
  std::vector<double> clean = {},       ///< values of the clean run's outputs
      corrupted = {};                   ///< values of the corrupted run's outputs, without a patch
  std::vector<Study::Text> texts = {};  ///< texts of the corrupted run
  std::vector<PatchGrid> grids = {};    ///< one per kind of module; grids of whole modules first, then those of heads
};

/// Options of run_activation_patching().
struct PatchingOptions {
  std::function<void(int64_t done, int64_t all)> progress = {};  ///< called before each run
};

/// Runs the corrupted study once for each layer and each block in it that has submodules (attention, feed-forward), at
/// each token and at all tokens, and once for each head. The module runs in f64 and is restored afterwards.
///
/// `corrupted` is the same model over a text of as many tokens (StudyOptions::reads). Throws Error (config) if the
/// models or numbers of tokens differ, the model reads no text, or it does not return the same values each time (in
/// training mode with dropout).
Patching run_activation_patching(const Study& clean, const Study& corrupted, const PatchingOptions& options = {});

}  // namespace tape::inspect
