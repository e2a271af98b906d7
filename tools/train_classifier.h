#pragma once

#include "common.h"

namespace tape::tools {

/// `tapeformer train classifier`.
void add_train_classifier(Command train);

}  // namespace tape::tools
