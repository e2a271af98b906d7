#pragma once

#include "autograd/tape.h"

namespace tape::optim {

/// Scales the gradients of all parameters by min(1, max_norm / (norm + 1e-6)), norm being the Euclidean norm of all of
/// them together (Pascanu et al. 2013, "On the difficulty of training recurrent neural networks"), and returns that
/// norm, as it was before. Parameters without a gradient are passed over; max_norm may be infinite, to measure only.
///
/// Handles of a gradient that were taken before keep the unscaled values. Error (numeric) where the norm is NaN or
/// infinite, saying how many gradients are: nothing is changed then. Error (config) unless max_norm > 0, and for a
/// parameter given twice.
double clip_grad_norm(TensorList parameters, double max_norm);

/// Holds every element of every gradient in [-limit, limit]; NaN stays NaN. Error (config) unless limit > 0, and for a
/// parameter given twice.
void clip_grad_value(TensorList parameters, double limit);

}  // namespace tape::optim
