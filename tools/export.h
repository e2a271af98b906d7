#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer export`.
void add_export(Command app);

}  // namespace tape::tools
