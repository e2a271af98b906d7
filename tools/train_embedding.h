#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train embedding`.
void add_train_embedding(Command train);

}  // namespace tape::tools
