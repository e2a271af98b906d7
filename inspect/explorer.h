#pragma once

#include <optional>
#include <string>
#include <vector>

#include "../autograd/gradcheck/gradcheck.h"
#include "frames.h"
#include "nudges.h"
#include "patching.h"
#include "study.h"

namespace tape::inspect {

struct PageOptions {
  std::string title = {};                         ///< the class of the model where empty
  std::optional<GradcheckReport> gradcheck = {};  ///< shown with the tape, what is guilty marked
  std::optional<NudgeOptions> nudges = {};        ///< values are pulled at, and heads cut, to see what it does
  std::vector<Frame> runs = {};                   ///< of the same texts, laid side by side; more than two make a film
  std::optional<Patching> patching = {};          ///< of the study as the clean run
  int64_t elements = 1 << 17;  ///< of each tensor, at most; fewer where the page would become too large
  /// Of all data, about. Beyond it tensors are cut: parameters first, then features of activations, then rows of
  /// LayerNorms, RMSNorms, rotary embeddings and activation functions, of which four remain.
  int64_t bytes = 4'400'000;
  /// Modules whose tensors are kept whole in any case: paths, in which * stands for any letters.
  std::vector<std::string> detail = {};
  std::string address = {};  ///< of the page, in front of the nodes' addresses in the report of the check
};

/// One self-contained HTML file: forward and backward of the study in a Composed and a Trace scope, each operation with
/// its values, gradients, contributions, times and formulas; heads, neurons, softmax and LayerNorm in numbers; the tape
/// and its replay. Gradients are of each output in turn; no grad() is touched, and no value differs from what the
/// function gives otherwise in those scopes. The file is written beside, flushed and renamed.
///
/// Errors: (config) for a study without outputs, a detail that no module fits or runs of other texts, (graph) for an
/// output without a tape, (shape) for one of several elements, (io) naming the file.
void write_page(const std::string& path, const Study& study, const PageOptions& options = {});

/// Along so many random directions check_gradients() looks at each parameter of more elements.
inline constexpr int64_t kDirections = 8;

/// Compares the gradients of a study's first output with central differences in f64 (nn::gradcheck's), and looks for
/// the operation that is guilty where they differ. The module runs in f64 for it, and is left as it was. Passed over
/// are parameters that are frozen or that the output does not depend on, and biases of keys where their gradient is
/// zero but for rounding: what is added to all keys alike shifts all scores of a query alike, and softmax does not see
/// it.
GradcheckReport check_gradients(const Study& study, const GradcheckOptions& options = {.directions = kDirections});

}  // namespace tape::inspect
