// Values from xtensor and back, without a copy where none is needed.
#include <tapeformer.h>
#include <tapeformer/autograd/xtensor.h>

#include <iostream>
#include <xtensor/xio.hpp>

using namespace tape;

int main() {
  xt::xarray<double> points{{1, 2}, {3, 4}, {5, 6}};
  Tensor x = from_xtensor(points * 0.1).requires_grad_();  // the expression is computed into the tensor

  Tensor loss = sum(square(tanh(x)));
  loss.backward();

  const Tensor gradient = x.grad();
  auto view = gradient.as_xtensor<double>();  // the tensor's own memory
  std::cout << "gradient:\n" << view << "\n";
  std::cout << "sum of each column: " << xt::eval(xt::sum(view, {0})) << "\n";
}
