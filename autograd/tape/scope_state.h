#pragma once

#include <optional>
#include <string>

#include "../dtype.h"
#include "../kernels/product/matmul_precision.h"
#include "scope.h"
#include "trace.h"

namespace tape {

/// The scopes under which an operation of this thread runs, for running a part of a model again later.
struct ScopeState {
  bool composed = false;
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  std::optional<DType> autocast;
  bool trace = false;
  std::string module_path;
  Device device = default_device();

  static ScopeState now();
};

/// Restores these scopes. Observers (an open Trace too), saved-tensor hooks, Rematerialize, EagerGradAccumulation and
/// NoGrad stay as they are.
class RestoreScopes {
 public:
  /// `state` must outlive the scope.
  explicit RestoreScopes(const ScopeState& state);

 private:
  const std::optional<Trace> trace_;  // first, because its constructor may throw
  const detail::ModuleName module_path_;
  const detail::ScopedValue<bool> composed_;
  const detail::ScopedValue<MatmulPrecision> matmul_precision_;
  const detail::ScopedValue<std::optional<DType>> autocast_;
  const detail::ScopedValue<const detail::ModuleName*> module_names_;
  const DeviceScope device_;
};

}  // namespace tape
