#pragma once

#include "../../base/terminal.h"
#include "../explorer/explorer.h"

namespace tape::inspect {

/// Selects the attention that attention_text() draws.
struct AttentionTextOptions {
  std::string block = {};            ///< path of the module; the last one that ran if empty
  std::optional<int64_t> head = {};  ///< from 0; the mean over all heads if unset
  bool gradients = false;        ///< draw the gradient of the study's first output with respect to the probabilities
  Colors colors = Colors::none;  ///< color depth; none: no escape sequences
  int64_t columns = 0;           ///< maximum width in terminal columns, at least 40 (0: unlimited)
};

/// Draws the attention weights of one module of a study, or the gradient of the first output with respect to them, as
/// text for a terminal, followed by the names of all attention modules that ran. Throws Error (config) if the study has
/// no texts or no attention, or the module was not called (the message lists those that were); (index) if the head does
/// not exist.
std::string attention_text(const Study& study, const AttentionTextOptions& options = {});

}  // namespace tape::inspect
