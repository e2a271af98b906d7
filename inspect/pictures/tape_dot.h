#pragma once

#include <string>

#include "../experiments/study.h"

namespace tape::inspect {

/// Returns the tape of a study's first output as a Graphviz graph, as recorded by the function, with the ranges of all
/// values and of the gradients on the way to named leaves (to_dot in inspect/dot.h). Throws what write_page() throws.
std::string tape_dot(const Study& study);

}  // namespace tape::inspect
