#pragma once

#include "device.h"

/// Defines the kernels name_8, name_16, name_32 and name_64 of a function template, for elements of 1, 2, 4 and 8
/// bytes.
#define TAPE_EXPORT_SIZES(name, parameters, arguments)               \
  TAPE_EXPORT_TYPE(name##_8, name, uint8_t, parameters, arguments)   \
  TAPE_EXPORT_TYPE(name##_16, name, uint16_t, parameters, arguments) \
  TAPE_EXPORT_TYPE(name##_32, name, uint32_t, parameters, arguments) \
  TAPE_EXPORT_TYPE(name##_64, name, uint64_t, parameters, arguments)
