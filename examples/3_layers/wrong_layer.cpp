// A layer with a mistake in a gradient, and the report that finds it.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// GELU with the tanh approximation: y = x (1 + t) / 2, t = tanh(a (x + b x^3)).
Tensor my_gelu(const Tensor& x) {
  constexpr double a = 0.79788456, b = 0.044715;
  return custom(
      "my_gelu", {x}, [](const Tensors& in) { return 0.5 * in[0] * (1 + tanh(a * (in[0] + b * pow(in[0], 3)))); },
      [](const BackwardContext& c) -> Tensors {
        const Tensor v = c.saved(0), t = tanh(a * (v + b * pow(v, 3)));
        return {c.grad() * 0.5 * (1 + t + v * (1 - square(t)) * a * (1 + b * square(v)))};  // should be 3 b v^2
      });
}

struct Activation : nn::Module {
  Tensor forward(const Tensor& x) { return my_gelu(x); }
};

struct FeedForward : nn::Module {
  nn::Child<nn::Linear> up{this, "up", 4, 8}, down{this, "down", 8, 4};
  nn::Child<Activation> activation{this, "activation"};
  Tensor forward(const Tensor& x) { return down(activation(up(x))); }
};

int main() {
  manual_seed(1);
  FeedForward layer;
  const GradcheckReport report = gradcheck(layer, {randn({2, 3, 4}, f64)});
  std::cout << report << "\n";
  return report.guilty.size() == 1 ? 0 : 1;
}
