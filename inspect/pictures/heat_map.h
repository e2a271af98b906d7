#pragma once

#include <string>
#include <vector>

#include "../../autograd/tensor.h"
#include "../../base/terminal.h"

namespace tape::inspect {

/// Options of heat_map().
struct HeatMapOptions {
  std::vector<std::string> rows = {},  ///< labels of the rows; indices from 0 if empty
      columns = {};                    ///< labels of the columns; indices from 0 if empty
  std::string title = {};              ///< printed above the map; omitted if empty
  Colors colors = Colors::none;        ///< colors, or a sign and shades (░▒▓█) without escape sequences
  int64_t width = 0;           ///< maximum width in terminal columns, at least 40 (0: unlimited); wider maps are split
  int64_t longest_label = 16;  ///< longer labels are truncated
};

/// Draws a matrix as text for a terminal, ending with a line break. Values may have any size and sign; the scale runs
/// from minus the largest finite magnitude to plus it, so that zero always looks the same (orange below, blue above;
/// or - and + before a shade). Each row ends with its value of largest magnitude and the label of that column. NaN is
/// drawn as "?", infinities as the ends of the scale.
///
/// values: [R, C], or [C] for one row. Throws Error (shape) for other ranks, or if the label counts do not match.
std::string heat_map(const Tensor& values, const HeatMapOptions& options = {});

}  // namespace tape::inspect
