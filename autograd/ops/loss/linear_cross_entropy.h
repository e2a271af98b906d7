#pragma once

#include "loss.h"

namespace tape {

/// cross_entropy(linear(x, weight, bias), target, options) with the logits of some rows in memory at once: x [..., in],
/// weight [V, in], bias [V] or undefined (one floating dtype), target [...] (i64) -> a single number. Of 4,096 tokens
/// over 50,257 words the logits take 785 MiB, of `rows` = 512 rows 98.
///
/// The forward makes the gradients as well where they are wanted, each block of logits being there once, and skips rows
/// whose target is ignored: padding costs nothing. What is kept for the backward are these gradients, as large as x and
/// the parameters, in place of the logits. (PyTorch's F.linear_cross_entropy; Hsu et al. 2024, "Liger Kernel: Efficient
/// Triton Kernels for LLM Training", its FusedLinearCrossEntropy.)
///
/// `rows` 0 chooses about 512, or more where their logits take less than 16 MiB; what is one block then is made whole,
/// on the tape as the two operations. So it is with Reduction::none, which has a gradient for each row. Errors are
/// those of linear() and cross_entropy(), of this name; (config) for negative rows.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target,
                            const CrossEntropyOptions& options = {}, int64_t rows = 0);

}  // namespace tape
