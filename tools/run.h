#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer run`.
void add_run(Command app);

}  // namespace tape::tools
