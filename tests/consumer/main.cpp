// The consumer's headers have the same paths as Tapeformer's in its repository; both are used together.
#include "autograd/tensor.h"
#include "base/error.h"
#include "inspect/dot.h"
#include "models/transformer.h"
#include "nn/module.h"
#include "optim/adam.h"
#include "text/tokenizer.h"
#include "train/trainer.h"

#include <tapeformer.h>
#include <tapeformer/nn/linear.h>

#include <cmath>
#include <iostream>

// The consumer's own module, composed of library modules.
struct Classifier : tape::nn::Layer<Classifier> {
  tape::nn::Child<tape::nn::Linear> linear{this, "linear", 4, 3};
  tape::Tensor forward(const tape::Tensor& x) { return linear(x); }
};

bool own_kernel_works();  // scale.cpp

int main() {
  tape::manual_seed(1);
  Classifier model;
  tape::optim::Adam adam(model.parameters(), {.lr = 0.1});
  const tape::Tensor x = tape::randn({8, 4}),
                     target = tape::randint(0, 3, {8}, tape::generator(tape::Stream::sampling));
  double first = 0, last = 0;
  for (int step = 0; step < 50; ++step) {
    const tape::Tensor loss = tape::cross_entropy(model(x), target);
    if (step == 0) first = loss.item();
    last = loss.item();
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  const int own = consumer::tensor + consumer::error + consumer::dot + consumer::transformer + consumer::module +
                  consumer::adam + consumer::tokenizer + consumer::trainer;
  const bool learned = std::isfinite(last) && last < first / 2;
  const bool checked = gradcheck(model, {tape::randn({2, 4}, tape::f64)}).ok();
  const bool works = own == 36 && learned && checked && own_kernel_works();
  std::cout << (works ? "the consumer works\n" : "the consumer does not work\n");
  return works ? 0 : 1;
}
