// Exchanges values with xtensor, without a copy where possible.
#include <tapeformer.h>
#include <tapeformer/autograd/xtensor.h>

#include <iostream>
#include <xtensor/xio.hpp>

using namespace tape;

int main() {
  xt::xarray<double> points{{1, 2}, {3, 4}, {5, 6}};
  Tensor x = from_xtensor(points * 0.1).requires_grad_();  // evaluated directly into the tensor

  Tensor loss = sum(square(tanh(x)));
  loss.backward();

  const Tensor gradient = x.grad();
  auto view = gradient.as_xtensor<double>();  // a view of the tensor's memory
  std::cout << "gradient:\n" << view << "\n";
  std::cout << "sum of each column: " << xt::eval(xt::sum(view, {0})) << "\n";
}
