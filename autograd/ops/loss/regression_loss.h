#pragma once

#include "loss_reduction.h"

namespace tape {

// Losses of single numbers: x and target have one shape, which is not broadcast (Error (shape)), and one floating
// dtype (Error (dtype)). The result is a single number, or of that shape with Reduction::none. Gradients flow to both.

/// (x - target)^2
Tensor mse_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);
/// |x - target|
Tensor l1_loss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::mean);

struct SmoothL1Options {
  double beta = 1;  ///< differences below it count squared; 0: none, which is l1_loss
  Reduction reduction = Reduction::mean;
};
/// d^2 / (2 beta) where d = |x - target| is below beta, else d - beta / 2 (Girshick 2015, "Fast R-CNN", equation 3,
/// with beta 1): huber_loss / beta. Error (config) unless beta is at least 0 and finite.
Tensor smooth_l1_loss(const Tensor& x, const Tensor& target, const SmoothL1Options& options = {});

struct HuberOptions {
  double delta = 1;  ///< differences below it count squared
  Reduction reduction = Reduction::mean;
};
/// d^2 / 2 where d = |x - target| is below delta, else delta (d - delta / 2) (Huber 1964). Error (config) unless delta
/// is above 0 and finite.
Tensor huber_loss(const Tensor& x, const Tensor& target, const HuberOptions& options = {});

struct GaussianNllOptions {
  bool full = false;  ///< with the constant log(2 pi) / 2
  double eps = 1e-6;  ///< variances are held above it
  Reduction reduction = Reduction::mean;
};
/// (log v + (x - target)^2 / v) / 2, v = max(var, eps): -log of a normal density with mean x and variance v, but for a
/// constant (Nix and Weigend 1994). var has x's shape, or size 1 in the place of its last axis, or not that axis at
/// all. Its gradient is that of v, also where eps holds it, as in PyTorch: so a variance can grow again. Error (shape)
/// for another var, (numeric) for one below 0, (config) unless eps is above 0.
Tensor gaussian_nll_loss(const Tensor& x, const Tensor& target, const Tensor& var,
                         const GaussianNllOptions& options = {});

}  // namespace tape
