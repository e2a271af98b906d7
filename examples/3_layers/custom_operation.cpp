// An operation with a hand-written gradient, first a wrong one, which the check reports, then the right one.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// y = x sigmoid(x), so dy/dx = s + y (1 - s) with s = sigmoid(x).
Tensor swish(const Tensor& x, bool right) {
  return custom(
      "swish", {x}, [](const Tensors& in) { return in[0] * sigmoid(in[0]); },
      [right](const BackwardContext& c) -> Tensors {
        const Tensor s = sigmoid(c.saved(0)), y = c.saved(1);
        if (!right) return {2 * c.grad() * (s + y * (1 - s))};  // wrong by a factor of 2
        return {c.grad() * (s + y * (1 - s))};
      });
}

int main() {
  manual_seed(1);
  const Tensor x = randn({3, 4}, f64);
  for (const bool right : {false, true}) {
    std::cout << (right ? "right:\n" : "wrong:\n");
    std::cout << gradcheck([right](const Tensors& in) { return swish(in[0], right); }, {x}) << "\n";
  }
  const GradcheckReport second = gradgradcheck([](const Tensors& in) { return swish(in[0], true); }, {x});
  std::cout << "second derivatives " << (second.ok() ? "agree\n" : "differ\n");
  return second.ok() ? 0 : 1;
}
