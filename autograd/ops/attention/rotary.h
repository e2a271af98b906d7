#pragma once

#include "../../tensor.h"

namespace tape {

struct RotaryEmbeddingOptions {
  int64_t num_heads = 1;     ///< H, side by side in x
  bool interleaved = false;  ///< columns 2i and 2i + 1 turn together; otherwise i and i + R/2
};

/// Rotary position embedding (Su et al. 2021, "RoFormer", 3.2.2; torch.onnx.ops.rotary_embedding): the first R columns
/// of each head turn in pairs, (u, v) -> (u c - v s, u s + v c), the others stay. x [B, T, H D]; c and s, the cosines
/// and sines, [T, R/2], or [B, T, R/2] where each text has positions of its own -> [B, T, H D]. Gradients flow through
/// all three. Of f16 and bf16, c and s may be in f32. Error (shape) naming what does not fit, (dtype) where
/// dtypes differ, (config) where num_heads does not divide the width.
Tensor rotary_embedding(const Tensor& x, const Tensor& cosine, const Tensor& sine,
                        const RotaryEmbeddingOptions& options = {});

}  // namespace tape
