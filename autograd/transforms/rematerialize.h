#pragma once

#include <memory>

#include "../tape/exchanged.h"
#include "../tape/packed_tensor.h"

namespace tape {

/// While in scope, outputs of operations that cost little more than reading them (gelu, gelu_tanh, silu, mul,
/// layer_norm, rms_norm) are not kept for those who save them: the backward makes them once more, from what such an
/// operation saved itself. A GELU block keeps one tensor of [.., d_ff] instead of two, a SwiGLU block two instead of
/// four, and no output of a normalization. It is to checkpoint() what selective recomputation is to full (Korthikanti
/// et al. 2022, "Reducing Activation Recomputation in Large Transformer Models", 5): a hundredth or two of a training
/// step, and nothing has to be cut in parts.
///
///     const Rematerialize scope;
///     const Tensor loss = cross_entropy(model(x), y);
///     loss.backward();  // in scope or outside
///
/// Gradients have the bits that they have without it, also those of gradients. What was changed in place after the
/// operation is kept as ever, and where something changes that the value is made of, the backward says so: Error
/// (graph); parameters in shares (train::Sharding::parameters) are dropped by then. SavedTensorHooks go first. Outputs
/// of fewer than `least_bytes` are kept: at 2 MiB they are about to leave the caches, and what is smaller is little.
class Rematerialize {
 public:
  static constexpr int64_t kLeastBytes = int64_t{2} << 20;

  explicit Rematerialize(int64_t least_bytes = kLeastBytes);

 private:
  using Made = std::unique_ptr<const PackedTensor> (*)(const Tensor& value);
  const detail::Exchanged<int64_t> bytes_;
  const detail::Exchanged<Made> made_;
};

}  // namespace tape
