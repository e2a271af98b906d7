#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train translation`.
void add_train_translation(Command train);

}  // namespace tape::tools
