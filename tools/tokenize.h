#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer tokenize`.
void add_tokenize(Command app);

}  // namespace tape::tools
