#pragma once

#include <string>
#include <string_view>

namespace tape {

/// Whether operations on tensors that require gradients are recorded by this thread.
bool grad_enabled();

/// While in scope, nothing is recorded: for evaluation and for updating parameters.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool previous_;
};

/// While in scope, operations are recorded, also inside a NoGrad scope.
class EnableGrad {
 public:
  explicit EnableGrad(bool enabled = true);
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool previous_;
};

/// While in scope, fused operations run as their composed twins, so that the tape shows every step (scores, mask,
/// softmax, dropout, context; mean, variance, normalize, scale).
class Composed {
 public:
  Composed();
  ~Composed();
  Composed(const Composed&) = delete;
  Composed& operator=(const Composed&) = delete;
  static bool active();

 private:
  bool previous_;
};

/// While in scope, matrix products of f32 tensors (matmul, linear) and their gradients round their operands to bf16 and
/// sum in f32: on AMX tiles several times as fast, on AMD's AVX512-BF16 about twice. Products too small to gain stay
/// exact. Parameters, gradients and all else stay f32, so nothing needs a loss scale. The gradients of what was
/// recorded in scope are of this kind wherever backward() is called.
class MixedPrecision {
 public:
  /// Error (config) where the CPU cannot multiply bf16 (AMX-BF16 or AVX512-BF16). `enabled` false: exact products
  /// again.
  explicit MixedPrecision(bool enabled = true);
  ~MixedPrecision();
  MixedPrecision(const MixedPrecision&) = delete;
  MixedPrecision& operator=(const MixedPrecision&) = delete;
  static bool active();

 private:
  bool previous_;
};

/// Names the module that runs while in scope; the names of nested scopes, joined by dots, are the module path. The name
/// must outlive the scope. Observers are told of its begin and end.
class ModuleScope {
 public:
  explicit ModuleScope(std::string_view name);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;
  static std::string path();
};

}  // namespace tape
