#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer score`.
void add_score(Command app);

}  // namespace tape::tools
