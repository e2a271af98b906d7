#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer generate`.
void add_generate(Command app);

}  // namespace tape::tools
