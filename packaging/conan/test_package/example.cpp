// Prints the gradient of a product, or fails.
#include <tapeformer.h>

#include <iostream>

int main() {
  const tape::Tensor x = tape::tensor({2.0, 3.0}).requires_grad_();
  tape::sum(x * x).backward();
  std::cout << "tapeformer: gradient " << x.grad() << "\n";
  return x.grad()[1].item() == 6 ? 0 : 1;
}
