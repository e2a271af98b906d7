// The same program on a GPU where there is one and on the CPU elsewhere; a file of weights that either loads.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// y = x1 x2, learned from random points.
struct Product : nn::Layer<Product> {
  nn::Child<nn::Linear> in{this, "in", 2, 32}, out{this, "out", 32, 1};
  Tensor forward(const Tensor& x) { return out(tanh(in(x))); }
};

Tensor products_of(const Tensor& x) { return slice(x, 1, {.end = 1}) * slice(x, 1, {.start = 1}); }

int main() {
  const Devices machine = devices();
  {
    // New tensors are created on this device while the scope lasts: the parameters, the batches, the optimizer's state.
    const DeviceScope on_device(machine.gpus.empty() ? cpu : cuda);
    std::cout << "training on " << describe(default_device()) << "\n";
    manual_seed(1);  // the same values on every device
    Product model;
    optim::Adam adam(model.parameters(), {.lr = 0.01});
    for (int step = 1; step <= 300; ++step) {
      const Tensor x = rand({64, 2}) * 2 - 1;
      const Tensor loss = mse_loss(model(x), products_of(x));
      adam.zero_grad();
      loss.backward();
      adam.step();
      // A GPU computes behind the program; item() waits for it, so the loss is not read in every step.
      if (step % 100 == 0) std::cout << "step " << step << "  loss " << loss.item() << "\n";
    }
    model.save("product.safetensors");
  }
  // On the CPU again. The file does not know on which device the model was.
  Product same;
  same.load("product.safetensors");
  const NoGrad no_grad;
  std::cout << "0.5 * -0.8 = " << same(tensor({{0.5, -0.8}})).item() << "\n";

  // Values move with to(), through which gradients flow; data() reads values of the CPU only.
  const Tensor x = tensor({1, 2, 3}).to(machine.gpus.empty() ? cpu : cuda);
  std::cout << sum(square(x)).to(cpu).data<float>()[0] << "\n";
}
