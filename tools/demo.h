#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer demo`.
void add_demo(Command app);

}  // namespace tape::tools
