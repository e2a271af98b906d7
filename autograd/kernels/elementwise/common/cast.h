#pragma once

#include <cstdint>

#include "../../runtime/common/isa.h"
#include "element.h"

namespace tape::kernels {

/// Conversions between element types.
struct CastKernels {
  /// y[i] = x[i] in another type, as converted().
  void (*cast)(Element from, Element to, int64_t n, const void* x, void* y);
  /// *first = the position of the first value of x that does not fit the type `to`, or -1.
  void (*first_unfit)(Element from, Element to, int64_t n, const void* x, int64_t* first);
};
TAPE_COMMON_TABLE(CastKernels, casts)
TAPE_DEVICE_TABLE(CastKernels, casts)

}  // namespace tape::kernels
