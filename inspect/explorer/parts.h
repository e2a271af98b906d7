#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

// Parts of a page's data (explorer_data.h); each is defined in the source file of its name.
namespace tape::inspect {

/// Determines what the axes of each operation's outputs index. Known at the start are the tokens of an embedding lookup
/// or of an image's patches, the heads of an attention module and the vocabulary of a prediction. From there axes are
/// propagated along the tape: a permutation moves them, a matrix product keeps rows and columns, a reshape keeps axes
/// that it does not split, and any other operation keeps axes whose index and size do not change.
std::vector<std::vector<Axes>> axes_of(const Study& study, const std::vector<Recording::Operation>& operations,
                                       const std::vector<PageOutput>& outputs);

/// Index of the text that a module reads: 1 in the decoder of an encoder-decoder model, otherwise 0.
size_t text_of(const Study& study, const std::string& module);

/// Returns [null, {"text": 0}, {"text": 1, "start": 1}, "heads", "vocabulary"], or null if no axis is known.
nlohmann::ordered_json axes_json(const Axes& axes);

/// Which texts an attention module connects.
struct AttentionRole {
  const char* kind;      ///< "encoder self", "decoder self" or "cross"
  size_t rows, columns;  ///< indices of the texts of queries and keys
};
AttentionRole attention_role_of(const Study& study, const std::string& module);

/// "attention": the steps of each attention module for all heads, with the gradients of each output. `all` adds values
/// and contexts, which no view requires.
nlohmann::ordered_json attention_json(const Recording& recording, bool all);
/// Tensors that attention_json() writes, used to compute the size of the page.
Tensors attention_tensors(const Recording& recording, bool all);

/// Returns scores [..., V], or a gradient of them, as one row per position, detached.
Tensor score_rows(const Tensor& scores);

/// Vocabulary indices that a page stores for scores over a large vocabulary: the targets and as many of the likeliest
/// tokens of each position as fit. All indices if the vocabulary is small.
std::vector<int64_t> kept_vocabulary(const Prediction& prediction);

/// The likeliest tokens and the target of each position, with their scores and their share of each output's gradient;
/// null for an output that is not the loss of a prediction.
nlohmann::ordered_json predictions_json(const Recording& recording);

/// Adds "layer_norms", "rms_norms", "activations" and "rotaries": the first rows of each such layer's input and output
/// and of the gradients of both.
///
/// elements: at most, per tensor, but at least four rows; layers that match the detail are stored in full.
void add_layers(nlohmann::ordered_json& data, const Recording& recording, int64_t elements);

/// Tensors that add_layers() writes, used to compute the size of the page.
Tensors layer_tensors(const Recording& recording, int64_t elements);

/// Maximum number of elements that the page stores of each tensor.
struct ElementLimits {
  int64_t activations = 0;
  int64_t parameters = 0;
  int64_t layers = 0;  // of the tensors of add_layers()
};

/// "tape": operations and leaves with saved tensors, times and formulas, and places (null) for values, gradients and
/// contributions. `guilty`: operations that a gradient check found to be wrong.
nlohmann::ordered_json tape_json(const Recording& recording, const std::vector<GuiltyOperation>& guilty);
/// Fills the places of tape_json().
void add_values(nlohmann::ordered_json& tape, const Recording& recording, const ElementLimits& limits);
/// Numbers that the operation's nodes have in the page: their indices in recording order among the nodes shown.
std::vector<size_t> guilty_nodes(const Recording& recording, const GuiltyOperation& guilty);

/// "nudges": the perturbed values, by the page's node numbers, and the ablated heads.
nlohmann::ordered_json nudges_json(const Recording& recording, const Nudges& nudged);

/// "patching": the outputs of the clean and the corrupted run, the text the latter reads, and the outputs per patch.
nlohmann::ordered_json patching_json(const Patching& patching);

/// "runs": the results of each run over the same texts. For the likeliest tokens and the target of each position, the
/// same tokens in every run, it has ln p over the whole vocabulary. If all runs would take more than about `bytes`,
/// runs are dropped evenly, but at least two are kept ("of" is the original count); if two are still too large, each
/// keeps only its last attention modules ("modules" of "modules_of").
///
/// Throws Error (config), naming the run, if its tokens, outputs or vocabulary differ from the recording's.
nlohmann::ordered_json runs_json(const Recording& recording, const std::vector<Frame>& runs, int64_t bytes);

}  // namespace tape::inspect
