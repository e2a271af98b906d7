#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "../base/terminal.h"

namespace tape::inspect {

/// How an attention picture is drawn.
struct AttentionPictureOptions {
  std::string title = {};        ///< a line above the picture; none when empty
  Colors colors = Colors::none;  ///< a coloured heat map, or shades ( ░▒▓█) without escapes
  int64_t columns = 0;           ///< width to keep within, 40 or more (0: any); wide pictures become several
  int64_t longest_label = 16;    ///< longer labels are cut
};

/// Draws an attention matrix as text for a terminal, ending with a line break.
///
/// Labels of sources stand one above the other, each with a line down to its column; labels of targets stand at the
/// left. Each row ends with its strongest source and that one's weight, and the cell is marked. The scale is the same
/// for every picture: weights from 0 to 1, with what lies outside drawn as the nearer end; NaN is drawn as "?". A row
/// that is zero everywhere (all sources hidden) has no strongest source.
///
/// weights: row-major [targets.size(), sources.size()].
/// Errors: ErrorKind::shape when the number of weights is not the product of the numbers of labels.
std::string attention_picture(std::span<const double> weights, std::span<const std::string> targets,
                              std::span<const std::string> sources, const AttentionPictureOptions& options = {});

}  // namespace tape::inspect
