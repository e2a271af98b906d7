#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "../kernels/product/matmul_precision.h"

namespace tape {

class DeferRecordEvents;
class PackedTensor;
class SavedTensorHooks;
class Tensor;

namespace detail {

class OnCustomForward;
struct ModuleName;

/// What the open scopes of a thread ask for. Each field is written by the class that is named beside it, which puts
/// back what was there before.
struct Modes {
  bool recording = true;                                               ///< NoGrad, EnableGrad
  bool composed = false;                                               ///< Composed
  bool eager_grad_accumulation = false;                                ///< EagerGradAccumulation
  bool recomputing = false;                                            ///< checkpoint(), while a segment runs again
  int traces = 0;                                                      ///< Trace
  MatmulPrecision matmul_precision = MatmulPrecision::highest;         ///< MatmulPrecisionScope
  const ModuleName* module = nullptr;                                  ///< ModuleScope: the innermost
  DeferRecordEvents* defer_record_events = nullptr;                    ///< DeferRecordEvents
  const OnCustomForward* on_custom_forward = nullptr;                  ///< OnCustomForward: the innermost
  SavedTensorHooks* saved_tensor_hooks = nullptr;                      ///< SavedTensorHooks: the innermost
  int64_t rematerialized_bytes = std::numeric_limits<int64_t>::max();  ///< Rematerialize: of values so large
  /// Rematerialize: what is saved in the place of such a value, or null.
  std::unique_ptr<const PackedTensor> (*rematerialize)(const Tensor& value) = nullptr;
};

extern constinit thread_local Modes modes;

}  // namespace detail

}  // namespace tape
