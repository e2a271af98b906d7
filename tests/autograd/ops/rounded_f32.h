#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "autograd/tape/op.h"
#include "autograd/tape/tape.h"
#include "tests/support/tensors.h"

namespace tape {

/// Expects f and its gradients in f16 and bf16 to equal those of the same values in f32, rounded.
inline void expect_rounded_f32(const Tensors& inputs, const std::function<Tensor(const Tensors&)>& f) {
  for (const DType half : {f16, bf16}) {
    Tensors rounded, wide;
    for (const Tensor& input : inputs) {
      rounded.push_back(input.to(half).detach().requires_grad_());
      wide.push_back(rounded.back().detach().to(f32).requires_grad_());
    }
    const Tensor y = f(rounded), wanted = f(wide);
    EXPECT_TRUE(tensors_equal(y, wanted.detach().to(half))) << to_string(half);
    const Tensor seed = sample_normal(y.shape(), 9).to(half);
    const Tensors found = grad({y}, rounded, {.gradients = {seed}});
    const Tensors expected = grad({wanted}, wide, {.gradients = {seed.to(f32)}});
    for (size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(tensors_equal(found[i], expected[i].to(half))) << to_string(half) << ", input " << i;
  }
}

}  // namespace tape
