#pragma once

#include <string>
#include <string_view>

#include "../kernels/product/matmul_precision.h"
#include "exchanged.h"

namespace tape {
namespace detail {

/// A name in the module path of a thread; the innermost leads to the others.
struct ModuleName {
  std::string_view name;
  const ModuleName* outer;
};

}  // namespace detail

/// Whether operations on tensors that require gradients are recorded by this thread.
bool grad_enabled();

/// While in scope, nothing is recorded: for evaluation and for updating parameters.
class NoGrad {
 public:
  NoGrad();

 private:
  const detail::Exchanged<bool> recording_;
};

/// While in scope, operations are recorded, also inside a NoGrad scope.
class EnableGrad {
 public:
  explicit EnableGrad(bool enabled = true);

 private:
  const detail::Exchanged<bool> recording_;
};

/// While in scope, fused operations run as their composed twins, so that the tape shows every step (scores, mask,
/// softmax, dropout, context; mean, variance, normalize, scale).
class Composed {
 public:
  Composed();
  static bool active();

 private:
  const detail::Exchanged<bool> composed_;
};

/// While in scope, products of f32 tensors (matmul, linear, attention) and their gradients are at least this exact:
/// `medium` rounds operands to bf16, on AMX tiles several times as fast, on AMD's AVX512-BF16 about twice; `high` takes
/// each value as the sum of two bf16, on tiles faster than f32 still. Where the CPU has nothing faster, and for
/// products too small to gain, they are of a higher one (matmul_precision_in_use). Parameters, gradients and all else
/// stay f32, so nothing needs a loss scale. The gradients of what was recorded in scope are of this kind wherever
/// backward() is called.
class MatmulPrecisionScope {
 public:
  explicit MatmulPrecisionScope(MatmulPrecision precision);
  /// That of the innermost scope of this thread; `highest` without one.
  static MatmulPrecision current();

 private:
  const detail::Exchanged<MatmulPrecision> precision_;
};

/// What products asked for in a precision run in on this CPU: that one, or a higher one that is as fast.
MatmulPrecision matmul_precision_in_use(MatmulPrecision asked);

/// Whether the function of a checkpoint() runs again on this thread, for a backward: what its first run changed beside
/// its outputs (running statistics, counters) must stay as it is.
bool recomputing();

/// Names the module that runs while in scope; the names of nested scopes, joined by dots, are the module path. The name
/// must outlive the scope. Observers are told of its begin and end.
class ModuleScope : NonCopyable {
 public:
  explicit ModuleScope(std::string_view name);
  ~ModuleScope();
  static std::string path();

 private:
  const detail::ModuleName name_;
  std::string observed_path_;  // that observers were given
};

}  // namespace tape
