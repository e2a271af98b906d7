#pragma once

#include <cmath>
#include <functional>

#include "autograd/create.h"
#include "autograd/tape/tape.h"
#include "tests/autograd/ops/reference.h"
#include "tests/support/tensors.h"

namespace tape {

/// Element i is 2 sin(i + 1), the values that reference.py fills inputs with.
inline Tensor grid(const Shape& shape) {
  Tensor x = empty(shape, f64);
  double* values = x.mutable_data<double>();
  for (int64_t i = 0; i < x.numel(); ++i) values[i] = 2 * std::sin(static_cast<double>(i + 1));
  return x;
}

/// Compares the output and gradients of f, for inputs of these shapes, with PyTorch's.
inline void expect_case(const reference::Case& expected, const std::vector<Shape>& shapes,
                        const std::function<Tensor(const Tensors&)>& f, double tolerance = 1e-12) {
  Tensors inputs;
  for (const Shape& shape : shapes) inputs.push_back(grid(shape).requires_grad_());
  const Tensor y = f(inputs);
  ASSERT_EQ(y.numel(), std::ssize(expected.y));
  EXPECT_TRUE(tensors_near(y, from_vector(expected.y, y.shape()), tolerance));
  Tensor seed = empty(y.shape(), f64);
  double* values = seed.mutable_data<double>();
  for (int64_t i = 0; i < seed.numel(); ++i) values[i] = std::cos(static_cast<double>(i));
  const Tensors gradients = grad({y}, inputs, {.gradients = {seed}});
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(tensors_near(gradients[i], from_vector(expected.gradients[i], shapes[i]), tolerance)) << "input " << i;
}

}  // namespace tape
