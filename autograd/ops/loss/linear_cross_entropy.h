#pragma once

#include "loss.h"

namespace tape {

/// cross_entropy(linear(x, weight, bias), target, options) with only some rows of the logits in memory at a time: x
/// [..., in], weight [V, in], bias [V] or undefined (one floating dtype), target [...] (i64) -> a scalar. For 4,096
/// tokens and a vocabulary of 50,257 the logits take 785 MiB, blocks of `rows` = 512 rows 98 MiB.
///
/// Gradients, if needed, are computed in the forward pass from each block of logits, and rows with an ignored target
/// are skipped, so padding costs nothing. The backward pass keeps these gradients, as large as x and the parameters,
/// instead of the logits. (PyTorch's F.linear_cross_entropy; Hsu et al. 2024, "Liger Kernel: Efficient Triton Kernels
/// for LLM Training", its FusedLinearCrossEntropy.)
///
/// `rows` 0 chooses about 512, or more if their logits take less than 16 MiB. If a single block suffices, and with
/// Reduction::none, which has a gradient per row, the two operations are recorded instead. Errors as in linear() and
/// cross_entropy(), under this name; (config) for negative rows.
Tensor linear_cross_entropy(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& target,
                            const CrossEntropyOptions& options = {}, int64_t rows = 0);

}  // namespace tape
