#pragma once

#include "../base/device.h"
#include "dtype.h"

namespace tape {

/// Device of new tensors for which none is named: the one of this thread's innermost DeviceScope, else the CPU.
Device default_device();

/// Dtype and device of a new tensor; either may be given alone: zeros({2}, f64), zeros({2}, cuda),
/// zeros({2}, {f64, cuda}).
struct TensorOptions {
  /// f32 on default_device() where a value is not given.
  /// @{
  TensorOptions() : TensorOptions(f32) {}
  TensorOptions(DType dtype_) : TensorOptions(dtype_, default_device()) {}
  TensorOptions(Device device_) : TensorOptions(f32, device_) {}
  TensorOptions(DType dtype_, Device device_) : dtype(dtype_), device(device_) {}
  /// @}

  bool operator==(const TensorOptions&) const = default;  ///< same dtype and device

  DType dtype;    ///< element type
  Device device;  ///< where the values are
};

}  // namespace tape
