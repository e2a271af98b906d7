#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer import`.
void add_import(Command app);

}  // namespace tape::tools
