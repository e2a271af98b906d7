#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare.h"

namespace tape::detail {

/// Per output element: its share of the numeric gradient of a checked element.
using Contributions = std::function<std::vector<double>(size_t checked)>;

/// Explains what the wrong elements have in common, in a sentence or two: constant factor, sign, transposed, swapped
/// with another variable, a missing sum, only some rows. `output` is the shape that contributions refer to.
std::string explain_wrong(const ComparedGradient& variable, const std::vector<ComparedGradient>& all,
                          const Shape& output, const Contributions& contributions);

}  // namespace tape::detail
