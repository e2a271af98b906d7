#pragma once

#include "../../tensor.h"

namespace tape {

/// Options of rotary_embedding().
struct RotaryEmbeddingOptions {
  int64_t num_heads = 1;     ///< H, packed in the last axis of x
  bool interleaved = false;  ///< pairs are columns 2i and 2i + 1; otherwise i and i + R/2
};

/// Rotary position embedding (Su et al. 2021, "RoFormer", 3.2.2; torch.onnx.ops.rotary_embedding): rotates the first R
/// columns of each head in pairs, (u, v) -> (u c - v s, u s + v c), and leaves the others. x [B, T, H D]; cosines c and
/// sines s [T, R/2], or [B, T, R/2] for positions per text -> [B, T, H D]. Gradients flow through all three. For f16
/// and bf16, c and s may be f32. Error (shape) naming what does not fit, (dtype) for different dtypes, (config) if
/// num_heads does not divide the width.
Tensor rotary_embedding(const Tensor& x, const Tensor& cosine, const Tensor& sine,
                        const RotaryEmbeddingOptions& options = {});

}  // namespace tape
