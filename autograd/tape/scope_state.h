#pragma once

#include <optional>
#include <string>

#include "../kernels/product/matmul_precision.h"
#include "scope.h"
#include "trace.h"

namespace tape {

/// The scopes that an operation of this thread runs under: for running a part of a model again from somewhere else.
struct ScopeState {
  bool composed = false;
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  bool trace = false;
  std::string module_path;

  static ScopeState now();
};

/// While in scope, those scopes are open and no others, but for observers, which stay as they are: a Trace that is open
/// goes on. What is recorded or not stays as it is too.
class ScopesAs {
 public:
  /// `state` must outlive the scope.
  explicit ScopesAs(const ScopeState& state);

 private:
  const std::optional<Trace> trace_;  // what may fail comes first
  const detail::ModuleName module_path_;
  const detail::Exchanged<bool> composed_;
  const detail::Exchanged<MatmulPrecision> matmul_precision_;
  const detail::Exchanged<const detail::ModuleName*> module_names_;
};

}  // namespace tape
