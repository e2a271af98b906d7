#pragma once

#include <span>

#include "events.h"

namespace tape::train {

/// How often a label was taken for which, from the right labels and those said: numbers of names in `labels`. Error
/// (shape) where there are not as many of both; Error (index) for a number without a name.
Confusion confusion_of(std::vector<std::string> labels, std::span<const int64_t> truth, std::span<const int64_t> said);

/// Share of examples whose label was said; 0 without examples.
double accuracy(const Confusion& confusion);

/// Mean over labels of F1 = 2 right / (of this label + said to be of it), so that a rare label counts as much as a
/// frequent one. Labels that no example has and that were never said are left out, as scikit-learn's f1_score does; 0
/// without examples.
double macro_f1(const Confusion& confusion);

}  // namespace tape::train
