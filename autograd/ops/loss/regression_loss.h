#pragma once

#include "loss_reduction.h"

namespace tape {

// Regression losses. x and target have one shape, without broadcasting (Error (shape)), and one floating dtype (Error
// (dtype)). Returns a scalar, or that shape with Reduction::none. Gradients flow to both.

/// (x - target)^2
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

/// Options of smooth_l1_loss().
struct SmoothL1Options {
  double beta = 1;                        ///< smaller differences are squared; 0 gives l1_loss
  Reduction reduction = Reduction::mean;  ///< none: a loss per element
};
/// d^2 / (2 beta) where d = |x - target| is below beta, else d - beta / 2 (Girshick 2015, "Fast R-CNN", equation 3,
/// with beta 1): huber_loss / beta. Error (config) unless beta is finite and not negative.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1Options& options = {});

/// Options of huber_loss().
struct HuberOptions {
  double delta = 1;                       ///< smaller differences are squared
  Reduction reduction = Reduction::mean;  ///< none: a loss per element
};
/// d^2 / 2 where d = |x - target| is below delta, else delta (d - delta / 2) (Huber 1964). Error (config) unless delta
/// is positive and finite.
Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberOptions& options = {});

/// Options of gaussian_nll_loss().
struct GaussianNllOptions {
  bool full = false;                      ///< include the constant log(2 pi) / 2
  double eps = 1e-6;                      ///< lower bound of variances
  Reduction reduction = Reduction::mean;  ///< none: a loss per element
};
/// (log v + (x - target)^2 / v) / 2, v = max(var, eps): up to a constant, -log of a normal density with mean x and
/// variance v (Nix and Weigend 1994). var has x's shape, size 1 in its last axis, or lacks that axis. Its gradient is
/// v's even where v is eps, as in PyTorch, so that a variance can grow again. Error (shape) for another var, (numeric)
/// for a negative one, (config) unless eps is positive.
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options = {});

}  // namespace tape
