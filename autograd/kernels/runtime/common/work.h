#pragma once

namespace tape::kernels {

/// Floating-point operations that this thread asked of matrix products and attention since it began: a multiplication
/// and its addition count as two, masked parts of causal attention not at all.
double& flop_counter();

}  // namespace tape::kernels
