#pragma once

#include <nlohmann/json_fwd.hpp>

#include "recording.h"

namespace tape::inspect {

/// Scores [..., V], or a gradient of them, as one row a position, without history.
Tensor score_rows(const Tensor& scores);

/// Places of the vocabulary that a page keeps of scores over a large one: the targets, and the likeliest tokens of each
/// position, as many as fit. All of them where they are few.
std::vector<int64_t> kept_vocabulary(const Prediction& prediction);

/// The likeliest tokens and the target of each position, the scores that they have on the tape and what they get of
/// each output's gradient; null for an output that is no loss of a prediction.
nlohmann::ordered_json predictions_json(const Recording& recording);

}  // namespace tape::inspect
