#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "../../base/device.h"
#include "../dtype.h"
#include "../kernels/product/matmul_precision.h"

namespace tape {

class DeferRecordEvents;
class PackedTensor;
class SavedTensorHooks;
class Tensor;

namespace detail {

class OnCustomForward;
struct ModuleName;

/// Settings of a thread's open scopes. Each field is set by the class named next to it, which restores the previous
/// value.
struct Modes {
  bool recording = true;                                               ///< NoGrad, EnableGrad
  bool composed = false;                                               ///< Composed
  bool eager_grad_accumulation = false;                                ///< EagerGradAccumulation
  bool recomputing = false;                                            ///< checkpoint(), during the second run
  Device device;                                                       ///< DeviceScope
  int traces = 0;                                                      ///< Trace
  MatmulPrecision matmul_precision = MatmulPrecision::highest;         ///< MatmulPrecisionScope
  std::optional<DType> autocast;                                       ///< AutocastScope
  const ModuleName* module = nullptr;                                  ///< ModuleScope: the innermost
  DeferRecordEvents* defer_record_events = nullptr;                    ///< DeferRecordEvents
  const OnCustomForward* on_custom_forward = nullptr;                  ///< OnCustomForward: the innermost
  SavedTensorHooks* saved_tensor_hooks = nullptr;                      ///< SavedTensorHooks: the innermost
  int64_t rematerialized_bytes = std::numeric_limits<int64_t>::max();  ///< Rematerialize: minimum size
  /// Rematerialize: returns what to save instead of a value, or null.
  std::unique_ptr<const PackedTensor> (*rematerialize)(const Tensor& value) = nullptr;
};

extern constinit thread_local Modes modes;

}  // namespace detail

}  // namespace tape
