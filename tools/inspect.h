#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer inspect`.
void add_inspect(Command app);

}  // namespace tape::tools
