#pragma once

#include "../autograd/tape/tape.h"

namespace tape::optim {

/// The Euclidean norm of the gradients of all parameters together; those without a gradient are passed over. Error
/// (numeric) where it is NaN or infinite, saying how many gradients are; Error (config) for a parameter given twice.
double grad_norm(TensorList parameters);

/// min(1, max_norm / (norm + 1e-6)): by how much gradients of that norm are to be scaled (Pascanu et al. 2013, "On the
/// difficulty of training recurrent neural networks"). Error (config) unless max_norm > 0.
double clip_scale(double norm, double max_norm);

/// Scales the gradients of all parameters by clip_scale() of their norm and returns that norm, as it was before. In
/// front of an optimizer's step this saves a pass over the gradients, with the same result:
///
///     const double norm = grad_norm(adam.parameters());
///     adam.step({.gradient_scale = clip_scale(norm, 1.0), .known_finite = true});
///
/// Handles of a gradient that were taken before keep the unscaled values. Errors as above; nothing is changed then.
double clip_grad_norm(TensorList parameters, double max_norm);

/// Holds every element of every gradient in [-limit, limit]; NaN stays NaN. Error (config) unless limit > 0, and for a
/// parameter given twice.
void clip_grad_value(TensorList parameters, double limit);

}  // namespace tape::optim
