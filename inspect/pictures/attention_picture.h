#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "../../base/terminal.h"

namespace tape::inspect {

/// Options of attention_picture().
struct AttentionPictureOptions {
  std::string title = {};        ///< printed above the picture; omitted if empty
  Colors colors = Colors::none;  ///< a colored heat map, or shades ( ░▒▓█) without escape sequences
  int64_t columns = 0;           ///< maximum width, at least 40 (0: unlimited); wider pictures are split
  int64_t longest_label = 16;    ///< longer labels are truncated
};

/// Draws an attention matrix as text for a terminal, ending with a line break.
///
/// Source labels are stacked above the picture, each with a line down to its column; target labels are at the left.
/// Each row ends with its strongest source and the weight of it, and that cell is marked. The scale is the same for
/// every picture: weights from 0 to 1, clamped; NaN is drawn as "?". A row of zeros (all sources masked) has no
/// strongest source.
///
/// weights: row-major [targets.size(), sources.size()].
/// Throws Error (shape) if the number of weights is not targets.size() * sources.size().
std::string attention_picture(std::span<const double> weights, std::span<const std::string> targets,
                              std::span<const std::string> sources, const AttentionPictureOptions& options = {});

}  // namespace tape::inspect
