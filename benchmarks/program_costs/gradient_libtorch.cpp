// tests/consumer/core/gradient.cpp in libtorch, whose gradient check exists in Python only: central differences by
// hand.
#include <torch/torch.h>

#include <iostream>

struct GatedImpl : torch::nn::Module {
  torch::nn::Linear value{4, 3}, gate{4, 3};
  GatedImpl() {
    register_module("value", value);
    register_module("gate", gate);
    to(torch::kDouble);
  }
  torch::Tensor forward(const torch::Tensor& x) { return value(x) * torch::sigmoid(gate(x)); }
};
TORCH_MODULE(Gated);

int main() {
  torch::manual_seed(1);
  Gated gated;
  const auto x = torch::randn({2, 4}, torch::kDouble), head = torch::randn({2, 3}, torch::kDouble);
  const auto value = [&] { return (gated(x) * head).sum(); };
  value().backward();
  torch::NoGradGuard no_grad;
  double worst = 0;
  for (auto& parameter : gated->parameters())
    for (int64_t i = 0; i < parameter.numel(); ++i) {
      const auto element = parameter.view(-1)[i];
      element.add_(1e-6);
      const double above = value().item<double>();
      element.sub_(2e-6);
      const double below = value().item<double>();
      element.add_(1e-6);
      worst = std::max(worst, std::abs((above - below) / 2e-6 - parameter.grad().view(-1)[i].item<double>()));
    }
  std::cout << "largest difference " << worst << "\n";
  return worst < 1e-6 ? 0 : 1;
}
