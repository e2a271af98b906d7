#pragma once

#include "../base/terminal.h"
#include "explorer.h"

namespace tape::inspect {

/// Which attention attention_text() draws, and how.
struct AttentionTextOptions {
  std::string block = {};            ///< the module's path; the last that ran where empty
  std::optional<int64_t> head = {};  ///< counted from 0; the mean of all where not given
  bool gradients = false;            ///< of the study's first output with respect to the probabilities, in their place
  Colors colors = Colors::none;
  int64_t columns = 0;  ///< terminal columns to keep within, 40 or more (0: any)
};

/// Who looks at whom in one attention module of a study, or by how much the first output would change if they looked
/// there more: a picture as text, with the names of the other modules below. For people without a browser. Errors:
/// (config) for a study without texts or attention, or a module that was not called (the message names those that
/// were); (index) for a head that it has not.
std::string attention_text(const Study& study, const AttentionTextOptions& options = {});

}  // namespace tape::inspect
