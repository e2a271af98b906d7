#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "../../base/device.h"
#include "../dtype.h"
#include "../kernels/product/matmul_precision.h"
#include "scoped_value.h"

namespace tape {
namespace detail {

/// An entry of a thread's module path, linked to the enclosing one.
struct ModuleName {
  std::string_view name;
  const ModuleName* outer;
};

}  // namespace detail

/// Whether this thread records operations on tensors that require gradients.
bool grad_enabled();

// Constructors of scopes are nodiscard: a scope without a name, NoGrad(), ends at once.

/// Disables recording while in scope, for evaluation and for updating parameters.
class NoGrad {
 public:
  [[nodiscard]] NoGrad();

 private:
  const detail::ScopedValue<bool> recording_;
};

/// Enables recording while in scope, also inside a NoGrad scope.
class EnableGrad {
 public:
  /// EnableGrad(false) disables recording, as NoGrad does.
  [[nodiscard]] explicit EnableGrad(bool enabled = true);

 private:
  const detail::ScopedValue<bool> recording_;
};

/// While in scope, fused operations run as compositions of basic ones, so that the tape shows every step (scores, mask,
/// softmax, dropout, context; mean, variance, normalize, scale).
class Composed {
 public:
  [[nodiscard]] Composed();
  static bool active();  ///< whether this thread is in such a scope

 private:
  const detail::ScopedValue<bool> composed_;
};

/// Sets the minimum precision of f32 products (matmul, linear, attention) and their gradients while in scope. `medium`
/// rounds operands to bf16, which is several times as fast with AMX and about twice as fast with AVX512-BF16 on AMD.
/// `high` splits each value into a sum of two bf16, which is still faster than f32 with AMX. A higher precision is used
/// if the CPU has nothing faster and for products too small to benefit (matmul_precision_in_use). Parameters, gradients
/// and everything else stay f32, so no loss scaling is needed. Gradients of operations recorded in scope use its
/// precision wherever backward() is called.
class MatmulPrecisionScope {
 public:
  /// Opens the scope on this thread; the innermost one applies.
  [[nodiscard]] explicit MatmulPrecisionScope(MatmulPrecision precision);
  /// Precision of this thread's innermost scope; `highest` without one.
  static MatmulPrecision current();

 private:
  const detail::ScopedValue<MatmulPrecision> precision_;
};

/// Mixed precision as with torch.autocast: while in scope, activations are bf16, and parameters, their gradients, sums
/// and losses stay f32, so no loss scaling is needed.
///
/// - linear(), linear_cross_entropy() and embedding() with f32 weights give bf16; linear() casts an f32 x first.
/// - matmul() of a bf16 and an f32 operand gives bf16, as do the nn layers that add a parameter to an activation.
/// - Losses of bf16 predictions are computed in f32 and have that dtype.
/// - Everything else has the dtype of its operands: a norm of bf16 values gives bf16 (PyTorch's gives f32), with f32
///   statistics.
///
/// f64 operands are not changed. Without a scope, autocast is on on a GPU while products have precision `medium`
/// (MatmulPrecisionScope), and off on the CPU, where bf16 activations save memory only.
class AutocastScope {
 public:
  /// Opens the scope on this thread; the innermost one applies. `dtype` is bf16, or f32, which turns autocast off.
  /// Error (dtype) for others.
  [[nodiscard]] explicit AutocastScope(DType dtype = bf16);

 private:
  const detail::ScopedValue<std::optional<DType>> dtype_;
};

/// Whether activations on a device are bf16 in this thread's scopes (AutocastScope).
bool is_autocast_enabled(Device device);

/// New tensors for which no device is named are created on this one while in scope. Results of operations are on the
/// device of their operands.
class DeviceScope {
 public:
  /// Opens the scope on this thread; the innermost one applies.
  [[nodiscard]] explicit DeviceScope(Device device);

 private:
  const detail::ScopedValue<Device> device_;
};

/// Precision that this CPU uses if the given one is requested: the same, or a higher one that is as fast.
MatmulPrecision matmul_precision_in_use(MatmulPrecision asked);

/// Whether this thread is running a checkpoint() function for the second time, in a backward. Side effects of the first
/// run (running statistics, counters) must not be repeated.
bool recomputing();

/// Names the module that runs while in scope. The module path is the names of nested scopes, joined by dots. The name
/// must outlive the scope. Observers receive its begin and end.
class ModuleScope : NonCopyable {
 public:
  /// Opens the scope on this thread. The name is not copied; an empty one adds nothing to the path.
  explicit ModuleScope(std::string_view name);
  ~ModuleScope();
  /// This thread's module path, as in "encoder.layers.0"; "" outside of modules.
  static std::string path();

 private:
  const detail::ModuleName name_;
  std::string observed_path_;  // the path that observers received
};

}  // namespace tape
