// Checks the gradients of two layers. One is right, the other uses an operation with a mistake in its gradient.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

struct Gated : nn::Module {
  nn::Child<nn::Linear> value{this, "value", 16, 16}, gate{this, "gate", 16, 16};
  Tensor forward(const Tensor& x) { return value(x) * sigmoid(gate(x)); }
};

Tensor swish(const Tensor& x) {  // x sigmoid(x)
  const auto backward = [](const BackwardContext& c) -> Tensors {
    const Tensor s = sigmoid(c.saved(0));
    return {c.grad() * (s + s * (1 - s))};  // wrong: should be s + x s (1 - s)
  };
  return custom(
      "swish", {x}, [](const Tensors& in) { return in[0] * sigmoid(in[0]); }, backward);
}
struct Broken : nn::Module {
  nn::Child<nn::Linear> up{this, "up", 16, 32}, down{this, "down", 32, 16};
  Tensor forward(const Tensor& x) { return down(swish(up(x))); }
};

int main() {
  manual_seed(1);
  Gated gated;
  std::cout << gradcheck(gated, {randn({2, 5, 16}, f64)}) << "\n\n";
  Broken broken;
  for (const GuiltyOperation& guilty : gradcheck(broken, {randn({2, 5, 16}, f64)}).guilty)
    std::cout << to_string(guilty) << "\n";
}
