// Ten minutes of Tapeformer: tensors, gradients, a layer, a training loop, saving and loading.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

// A layer is a struct. Each child registers itself with the layer under its name.
struct Curve : nn::Layer<Curve> {
  nn::Child<nn::Linear> in{this, "in", 1, 16}, out{this, "out", 16, 1};
  Tensor forward(const Tensor& x) { return out(tanh(in(x))); }
};

int main() {
  manual_seed(1);

  // Tensors have a shape and a dtype. Operations broadcast as in NumPy.
  const Tensor a = tensor({{1, 2, 3}, {4, 5, 6}});
  std::cout << "a has shape " << a.shape() << " and dtype " << a.dtype() << "; a times column sums:\n"
            << a * a.sum(0) << "\n\n";

  // Gradients: operations on x are recorded, and backward() runs the record in reverse.
  Tensor x = tensor({1, 2, 3}, f64).requires_grad_();
  Tensor loss = sum(square(x) + sin(x));
  loss.backward();
  std::cout << "d loss / dx = 2x + cos x = " << x.grad() << "\n\n";

  // A training loop: fit a layer to one period of a sine.
  Curve curve;
  optim::AdamW adamw(curve.parameters(), {.lr = 0.02});
  const Tensor points = reshape(linspace(-1, 1, 64), {64, 1}), target = sin(3.14159265 * points);
  for (int step = 0; step <= 300; ++step) {
    const Tensor error = mse_loss(curve(points), target);
    adamw.zero_grad();
    error.backward();
    adamw.step();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << error.item() << "\n";
  }

  // Saving and loading: one safetensors file, which Python can read too.
  curve.save("curve.safetensors");
  Curve same;
  same.load("curve.safetensors");
  const NoGrad no_grad;
  std::cout << "largest difference after loading: " << max(abs(same(points) - curve(points))).item() << "\n";
}
