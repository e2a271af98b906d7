// A layer of your own, and the check of its gradients.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// Members register themselves with the module. The check lists parameters that do not.
struct Gated : nn::Module {
  nn::Child<nn::Linear> value, gate;
  explicit Gated(int64_t d) : value(this, "value", d, d), gate(this, "gate", d, d) {}
  Tensor forward(const Tensor& x) { return value(x) * sigmoid(gate(x)); }
};

int main() {
  manual_seed(1);
  Gated layer(16);
  std::cout << layer << "\n\n";
  const GradcheckReport report = gradcheck(layer, {randn({2, 5, 16}, f64)});
  std::cout << report << "\n";
  return report.ok() ? 0 : 1;
}
