#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compare.h"

namespace tape::detail {

/// By output element: how much of the numeric gradient of a checked element comes through it.
using Contributions = std::function<std::vector<double>(size_t checked)>;

/// What the wrong elements have in common, as a sentence or two: constant factor, sign, transposed, swapped with
/// another variable, a missing sum, some rows only. `output` is the shape that contributions are given for.
std::string explain_wrong(const ComparedGradient& variable, const std::vector<ComparedGradient>& all,
                          const Shape& output, const Contributions& contributions);

}  // namespace tape::detail
