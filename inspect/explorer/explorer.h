#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../../autograd/gradcheck/gradcheck.h"
#include "../experiments/nudges.h"
#include "../experiments/patching.h"
#include "../experiments/study.h"
#include "frames.h"

/// What a person looks at: pages, pictures and tables of a tape, a model or a run.
namespace tape::inspect {

/// Options of write_page().
struct PageOptions {
  std::string title = {};                         ///< the model's class if empty
  std::optional<GradcheckReport> gradcheck = {};  ///< shown with the tape; operations with wrong gradients are marked
  std::optional<NudgeOptions> nudges = {};        ///< perturb values and ablate heads, and show the effects
  std::vector<Frame> runs = {};                   ///< runs over the same texts to compare; more than two form a film
  std::optional<Patching> patching = {};          ///< with this study as the clean run
  int64_t elements = 1 << 17;                     ///< at most, per tensor; fewer if the page would become too large
  /// Approximate size of all data. Beyond it tensors are truncated: parameters first, then features of activations,
  /// then rows of LayerNorms, RMSNorms, rotary embeddings and activation functions, of which at least four remain.
  int64_t bytes = 4'400'000;
  std::optional<double> label_smoothing = {};  ///< of the model's training: explains probabilities that stay below 1
  /// Paths of modules whose tensors are always stored in full; * matches any characters.
  std::vector<std::string> detail = {};
  std::string address = {};  ///< URL of the page, prefixed to the links to nodes in the gradient check's report
};

/// Writes one self-contained HTML file: forward and backward of the study in a Composed and a Trace scope, each
/// operation with its values, gradients, contributions, times and formulas; heads, neurons, softmax and LayerNorm in
/// numbers; the tape and its replay. Gradients are shown for each output in turn; no grad() is changed, and all values
/// equal those of the function in these scopes. The file is replaced atomically.
///
/// Throws Error (config) if the study has no outputs, a detail matches no module or a run reads other texts, (graph) if
/// an output is not on a tape, (shape) if an output has several elements, (io) naming the file.
void write_page(const std::string& path, const Study& study, const PageOptions& options = {});

/// Number of random directions in which check_gradients() checks each parameter with more elements than this.
inline constexpr int64_t kDirections = 8;

/// Compares the gradients of a study's first output with central differences in f64 (nn::gradcheck), and searches for
/// the responsible operation if they differ. The module runs in f64 meanwhile and is restored afterwards. Skips
/// parameters that are frozen or that the output does not depend on, and key biases whose gradient is zero up to
/// rounding: a bias added to all keys shifts all scores of a query equally, and softmax is invariant to that.
GradcheckReport check_gradients(const Study& study, const GradcheckOptions& options = {.directions = kDirections});

}  // namespace tape::inspect
