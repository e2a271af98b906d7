#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train mlm`.
void add_train_mlm(Command train);

}  // namespace tape::tools
