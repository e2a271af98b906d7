// A layer with a child that is not registered, and the two checks that find it.
#include <tapeformer.h>

#include <iostream>

using namespace tape;

struct Block : nn::Layer<Block> {
  nn::Child<nn::Linear> up{this, "up", 4, 8};
  nn::Linear down{8, 4};  // a plain member: should be nn::Child<nn::Linear> down{this, "down", 8, 4};
  Tensor forward(const Tensor& x) { return down(relu(up(x))); }
};

int main() {
  manual_seed(1);
  Block block;
  std::cout << block << "\n\n";

  // Call this in your own training loop before the first backward. train::Trainer does it for you.
  try {
    const Tensor loss = sum(square(block(randn({2, 4}))));
    nn::check_registered(loss, block);
  } catch (const Error& error) {
    std::cout << error.what() << "\n\n";
  }

  block.down.to(f64);  // gradcheck converts only registered parameters to f64
  const GradcheckReport report = gradcheck(block, {randn({2, 4}, f64)});
  std::cout << report << "\n";
  return report.unregistered.size() == 2 ? 0 : 1;
}
