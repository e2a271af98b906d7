#pragma once

#include <stdint.h>

namespace tape::kernels {

/// What the first failed check of values found. Kernels that check write it only if it is still empty.
struct Finding {
  int64_t check = 0;     ///< number of the check; 0: nothing was found
  int64_t position = 0;  ///< of the first value that the check refuses
  int64_t value = 0;     ///< that value, for checks of integers
};

}  // namespace tape::kernels
