#pragma once

#include "../autograd/tape/tape.h"

namespace tape::optim {

/// Returns the Euclidean norm of all gradients together; parameters without a gradient are skipped. Throws Error
/// (numeric) with the number of affected gradients if it is NaN or infinite, Error (config) for a duplicate parameter.
double grad_norm(TensorList parameters);

/// min(1, max_norm / (norm + 1e-6)), the factor that clips gradients of this norm (Pascanu et al. 2013, "On the
/// difficulty of training recurrent neural networks"). Throws Error (config) unless max_norm > 0.
double clip_scale(double norm, double max_norm);

/// Scales all gradients by clip_scale() of their norm and returns the norm before scaling. To save a pass over the
/// gradients, with the same result, pass the scale to the optimizer's step instead:
///
///     const double norm = grad_norm(adam.parameters());
///     adam.step({.gradient_scale = clip_scale(norm, 1.0), .known_finite = true});
///
/// Handles of gradients taken earlier keep the unscaled values. Throws as above, and then changes nothing.
double clip_grad_norm(TensorList parameters, double max_norm);

/// Clamps every element of every gradient to [-limit, limit]; NaN stays NaN. Throws Error (config) unless limit > 0,
/// and for a duplicate parameter.
void clip_grad_value(TensorList parameters, double limit);

}  // namespace tape::optim
