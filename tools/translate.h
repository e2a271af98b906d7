#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer translate`.
void add_translate(Command app);

}  // namespace tape::tools
