#pragma once

#include <string>
#include <vector>

#include "../autograd/tensor.h"
#include "../base/terminal.h"

namespace tape::inspect {

/// How a heat map is drawn.
struct HeatMapOptions {
  std::vector<std::string> rows = {}, columns = {};  ///< labels; the numbers from 0 where empty
  std::string title = {};                            ///< a line above; none when empty
  Colors colors = Colors::none;                      ///< colours, or a sign and shades (░▒▓█) without escapes
  int64_t width = 0;           ///< terminal columns to keep within, 40 or more (0: any); wide maps become several
  int64_t longest_label = 16;  ///< longer labels are cut
};

/// Draws a matrix as text for a terminal, ending with a line break: values of any size and sign, on a scale from minus
/// the largest magnitude to it, so that zero always looks the same (orange below, blue above; or - and + in front of a
/// shade). Each row ends with its value of largest magnitude and the label of that column. NaN is drawn as "?",
/// infinities as the ends of the scale, which finite values make.
///
/// values: [R, C], or [C] for one row. Errors: (shape) for another rank, and for labels that are not one each.
std::string heat_map(const Tensor& values, const HeatMapOptions& options = {});

}  // namespace tape::inspect
