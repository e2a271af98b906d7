#pragma once

#include <string>

#include "study.h"

namespace tape::inspect {

/// The tape of a study's first output in Graphviz's language, as the function records it, with the ranges of all values
/// and of the gradients on their way to the leaves that have names (to_dot of inspect/dot.h). Errors as write_page's.
std::string tape_dot(const Study& study);

}  // namespace tape::inspect
