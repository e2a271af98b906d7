#pragma once

#include <memory>

#include "../tape/packed_tensor.h"
#include "../tape/scoped_value.h"

namespace tape {

/// Selective recomputation (Korthikanti et al. 2022, "Reducing Activation Recomputation in Large Transformer Models",
/// 5). While in scope, outputs of operations that cost little more than reading them (gelu, gelu_tanh, silu, mul,
/// layer_norm, rms_norm) are not saved: the backward recomputes them from what the operation itself saved. A GELU block
/// saves one tensor of [.., d_ff] instead of two, a SwiGLU block two instead of four, and no normalization output is
/// saved. Costs one or two percent of a training step and, unlike checkpoint(), does not require splitting the model.
///
///     const Rematerialize scope;
///     const Tensor loss = cross_entropy(model(x), y);
///     loss.backward();  // in scope or outside
///
/// Gradients of any order are bitwise identical to those without it. A value that was modified in place after its
/// operation is saved as usual. If something the value is computed from was modified, the backward throws Error
/// (graph); the same holds for parameters sharded by train::Sharding::parameters, which are released by then.
/// SavedTensorHooks take precedence. Outputs smaller than `min_bytes` are saved: from 2 MiB on they start to exceed
/// the caches, and smaller ones matter little.
class Rematerialize {
 public:
  static constexpr int64_t kMinBytes = int64_t{2} << 20;  ///< default of min_bytes, 2 MiB

  /// Opens the scope on this thread; 0 recomputes outputs of any size.
  explicit Rematerialize(int64_t min_bytes = kMinBytes);

 private:
  using Made = std::unique_ptr<const PackedTensor> (*)(const Tensor& value);
  const detail::ScopedValue<int64_t> bytes_;
  const detail::ScopedValue<Made> made_;
};

}  // namespace tape
