#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

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

}  // namespace tape::inspect
