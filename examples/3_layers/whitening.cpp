// A layer that whitens a batch: afterwards the features are uncorrelated and have variance 1. Plain gradient descent is
// slow on correlated features of different scales, and converges fast on whitened ones.
#include <tapeformer.h>

#include <cmath>
#include <iostream>

using namespace tape;

// y = L^-1 (x - m) with the batch's mean m and covariance L L^T (Siarohin et al. 2019, "Whitening and coloring").
struct Whitening : nn::Layer<Whitening> {
  double eps;
  explicit Whitening(double added = 1e-10) : eps(added) {}

  Tensor forward(const Tensor& x) {  // [B, C]
    const Tensor centred = x - mean(x, 0);
    const Tensor covariance = matmul(transpose(centred), centred) / static_cast<double>(x.size(0));  // [C, C]
    const Tensor l = linalg::cholesky(covariance + eps * eye(x.size(1), x.dtype()));
    return transpose(linalg::solve_triangular(l, transpose(centred), {}));  // [B, C]
  }
};

// Largest absolute difference between the covariance of the rows and the identity.
double from_identity(const Tensor& y) {
  const Tensor centred = y - mean(y, 0);
  const Tensor covariance = matmul(transpose(centred), centred) / static_cast<double>(y.size(0));
  return max(abs(covariance - eye(y.size(1), y.dtype()))).item();
}

// Loss of a linear regression after 200 steps of full-batch gradient descent.
double trained_loss(const Tensor& features, const Tensor& target, double lr) {
  nn::Linear model(features.size(1), 1);
  model.to(f64);
  optim::Sgd sgd(model.parameters(), {.lr = lr});
  for (int64_t step = 0; step < 200; ++step) {
    sgd.zero_grad();
    mse_loss(model(features), target).backward();
    sgd.step();
  }
  const NoGrad no_grad;
  return mse_loss(model(features), target).item();
}

int main() {
  manual_seed(1);
  Whitening layer;
  const Tensor sample = randn({6, 3}, f64);
  const GradcheckReport report = gradcheck(layer, {sample}), second = gradgradcheck(layer, {sample});
  std::cout << report << "\nsecond derivatives " << (second.ok() ? "agree" : "differ") << "\n";

  // Random mixtures of sources whose scales differ by a factor of 100: the covariance has a condition number of 10^4 or
  // more.
  const Tensor sources = randn({500, 5}, f64), scales = tensor({10, 3, 1, 0.3, 0.1}, f64);
  const Tensor x = matmul(sources * scales, randn({5, 5}, f64)), target = sum(sources, -1, Dims::keep);
  const Tensor white = layer(x);
  std::cout << "covariance of the whitened features is the identity to 1e-6: "
            << (from_identity(white) < 1e-6 ? "yes" : "no") << "\n";

  // The best of several learning rates for the mixed features, half a Newton step for the whitened ones.
  double mixed = INFINITY;
  for (const double lr : {1e-4, 3e-4, 1e-3, 3e-3, 1e-2})
    if (const double loss = trained_loss(x, target, lr); loss < mixed) mixed = loss;
  const double whitened = trained_loss(white, target, 0.25);
  std::cout << "loss after 200 steps: " << (mixed > 0.1 ? "over 0.1" : "0.1 or less") << ", whitened "
            << (whitened < 1e-6 ? "below 1e-6" : "1e-6 or more") << "\n";
  return report.ok() && second.ok() && mixed > 0.1 && whitened < 1e-6 ? 0 : 1;
}
