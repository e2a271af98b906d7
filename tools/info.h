#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer info`.
void add_info(Command app);

}  // namespace tape::tools
