#pragma once

namespace tape::kernels {

/// Floating-point operations of matrix products and attention requested by this thread since it started. A
/// multiplication and its addition count as two; masked parts of causal attention do not count.
double& flop_counter();

}  // namespace tape::kernels
