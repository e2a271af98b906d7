#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train lm`.
void add_train_lm(Command train);

}  // namespace tape::tools
