#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train tokens`.
void add_train_tokens(Command train);

}  // namespace tape::tools
