// Checks the gradient of a layer of one's own, with component core only.
#include <tapeformer/core.h>

#include <iostream>

using namespace tape;

struct Gated : nn::Layer<Gated> {
  nn::Child<nn::Linear> value{this, "value", 4, 3}, gate{this, "gate", 4, 3};
  Tensor forward(const Tensor& x) { return value(x) * sigmoid(gate(x)); }
};

int main() {
  manual_seed(1);
  Gated gated;
  const GradcheckReport report = gradcheck(gated, {randn({2, 4}, f64)});
  std::cout << report << "\n";
  return report.ok() ? 0 : 1;
}
