#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

// What the data of a page (explorer_data.h) are made of, each part in a source of its name.
namespace tape::inspect {

/// What the places along each axis of each operation's outputs are. Known are the tokens that an embedding looked up
/// or an image was cut into, the heads of an attention module and the vocabulary of a prediction; from there they
/// follow the tape: a transposition takes them along, a product keeps rows and columns, a reshape what it does not
/// split, and everything else keeps an axis that stays where it was and as long as it was.
std::vector<std::vector<Axes>> axes_of(const Study& study, const std::vector<Recording::Operation>& operations,
                                       const std::vector<PageOutput>& outputs);

/// Which text a module reads: 1 in the decoder of an encoder-decoder model, else 0.
size_t text_of(const Study& study, const std::string& module);

/// [null, {"text": 0}, {"text": 1, "start": 1}, "heads", "vocabulary"]; null where nothing is known of any axis.
nlohmann::ordered_json axes_json(const Axes& axes);

/// What an attention module is between.
struct AttentionPlace {
  const char* kind;      ///< "encoder self", "decoder self" or "cross"
  size_t rows, columns;  ///< of which texts queries and keys are
};
AttentionPlace place_of(const Study& study, const std::string& module);

/// "attention": the steps of each attention module, all heads, with the gradients of each output; `all`: with values
/// and contexts, which no view needs.
nlohmann::ordered_json attention_json(const Recording& recording, bool all);
/// What attention_json() writes, for the size of the page.
Tensors attention_tensors(const Recording& recording, bool all);

/// Scores [..., V], or a gradient of them, as one row a position, without history.
Tensor score_rows(const Tensor& scores);

/// Places of the vocabulary that a page keeps of scores over a large one: the targets, and the likeliest tokens of each
/// position, as many as fit. All of them where they are few.
std::vector<int64_t> kept_vocabulary(const Prediction& prediction);

/// The likeliest tokens and the target of each position, the scores that they have on the tape and what they get of
/// each output's gradient; null for an output that is no loss of a prediction.
nlohmann::ordered_json predictions_json(const Recording& recording);

/// Adds "layer_norms", "rms_norms", "activations" and "rotaries": the first rows of each such layer's input and output,
/// and of the gradients of both.
///
/// elements: of each tensor, at most, but no fewer than four rows; layers that the detail names have all of theirs.
void add_layers(nlohmann::ordered_json& data, const Recording& recording, int64_t elements);

/// What add_layers() writes of these tensors, for the size of the page.
Tensors layer_tensors(const Recording& recording, int64_t elements);

/// How many elements of a tensor the page keeps where not all.
struct Limits {
  int64_t activations = 0;
  int64_t parameters = 0;
  int64_t layers = 0;  // of what add_layers() writes
};

/// "tape": operations and leaves with values, gradients, contributions, what was saved, times and formulas. `guilty`
/// are those that a gradient check named.
nlohmann::ordered_json tape_json(const Recording& recording, const std::vector<GuiltyOperation>& guilty,
                                 const Limits& limits);
/// How many bytes the values of tape_json() take in a page, each that stands there more than once counted once, with
/// those that stand beside them, which the tape keeps whole too.
int64_t bytes_of_values(const Recording& recording, const Limits& limits, const Tensors& beside);
/// The number that a node has in the page: its place in recording order among the nodes shown.
std::vector<size_t> guilty_nodes(const Recording& recording, const GuiltyOperation& guilty);

/// "nudges": what was pulled at, by the nodes of the tape that the page shows, and what was cut.
nlohmann::ordered_json nudges_json(const Recording& recording, const Nudges& pulled);

/// "patching": the outputs of the clean and of the corrupted run, what the latter reads, and the outputs of each patch.
nlohmann::ordered_json patching_json(const Patching& patching);

/// "runs": what each run gave for the same texts. Of the likeliest tokens of each position, and the right one, it has
/// ln p over the whole vocabulary, for the same tokens in every run. Where all runs would take more than about `bytes`,
/// some are left out, evenly, but no fewer than two are kept, "of" says how many there were; and where two are too
/// much, of each only the last attention modules, "modules" of "modules_of".
///
/// Error (config) where a run's tokens, outputs or vocabulary are not those of the recording, naming it.
nlohmann::ordered_json runs_json(const Recording& recording, const std::vector<Frame>& runs, int64_t bytes);

}  // namespace tape::inspect
