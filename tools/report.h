#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer report`.
void add_report(Command app);

}  // namespace tape::tools
