#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer bench`.
void add_bench(Command app);

}  // namespace tape::tools
