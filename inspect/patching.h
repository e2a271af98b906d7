#pragma once

#include "activations.h"

namespace tape::inspect {

/// What each of some modules, put back from the clean run into the corrupted one, makes of the outputs.
struct PatchGrid {
  std::string name = {};                  ///< "decoder.layers.*.cross_attention"
  std::vector<std::string> modules = {};  ///< its rows
  size_t text = 0;                        ///< whose tokens the columns are; the last one is all of them together
  int64_t heads = 0;                      ///< where not 0, the columns are heads instead, each at all tokens
  /// [row][column], one value an output.
  std::vector<std::vector<std::vector<double>>> values = {};
};

/// Activation patching (Meng et al. 2022, "Locating and Editing Factual Associations in GPT", 2; Zhang and Nanda 2024
/// on corrupting by other tokens, as here): a model reads a corrupted text, and one activation of the clean run is put
/// in its place. Where that brings the clean output back, what made the difference passes there.
struct Patching {
  std::vector<double> clean = {}, corrupted = {};  ///< the outputs
  std::vector<Study::Text> texts = {};             ///< what the corrupted run reads
  std::vector<PatchGrid> grids = {};
};

struct PatchingOptions {
  std::function<void(int64_t done, int64_t all)> progress = {};  ///< called before each run
};

/// Runs the corrupted study once for each layer, and each block in it that has modules of its own (attention,
/// feed-forward), at each token and at all, and once for each head; the module in f64, which is left as it was.
///
/// `corrupted` is the same model over a text of as many tokens (StudyOptions::reads). Errors: (config) for studies of
/// different models or numbers of tokens, of no model that reads a text, and for a model that does not give the same
/// numbers each time (in training mode with dropout).
Patching patch_all(const Study& clean, const Study& corrupted, const PatchingOptions& options = {});

}  // namespace tape::inspect
