#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer classify`.
void add_classify(Command app);

}  // namespace tape::tools
