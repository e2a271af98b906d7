#pragma once

#include <functional>

#include <gtest/gtest.h>

#include "autograd/create.h"
#include "autograd/ops.h"
#include "autograd/tape/op.h"
#include "tests/support/tensors.h"

namespace tape {

/// First and second derivatives of loss(call(inputs)) by the inputs; undefined where they do not exist.
inline Tensors sample_derivatives(const OpSample& sample, const std::function<Tensor(const Tensor&)>& loss) {
  Tensors leaves, inner;
  for (const Tensor& input : sample.inputs) {
    leaves.push_back(input.detach().clone().requires_grad_());
    inner.push_back(alias(leaves.back()));
  }
  Tensors found = grad({loss(sample.call(inner))}, leaves, {.create_graph = true, .allow_unused = true}), reached;
  Tensor both = zeros({}, f64);
  for (const Tensor& gradient : found)
    if (gradient.defined()) both = both + sum(square(gradient));
  if (both.requires_grad()) reached = grad({both}, leaves, {.allow_unused = true});
  found.insert(found.end(), reached.begin(), reached.end());
  return found;
}

/// Whether both have the same bits.
inline void expect_same_derivatives(const Tensors& found, const Tensors& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_EQ(found[i].defined(), wanted[i].defined());
    if (!found[i].defined()) continue;
    EXPECT_TRUE(tensors_equal(found[i].detach(), wanted[i].detach())) << i;
  }
}

}  // namespace tape
