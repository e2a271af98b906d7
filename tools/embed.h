#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer embed`.
void add_embed(Command app);

}  // namespace tape::tools
