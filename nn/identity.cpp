#include "nn/identity.h"

namespace tape::nn {}  // namespace tape::nn
