#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train`.
void add_train(Command app);

}  // namespace tape::tools
