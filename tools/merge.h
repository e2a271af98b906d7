#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer merge`.
void add_merge(Command app);

}  // namespace tape::tools
