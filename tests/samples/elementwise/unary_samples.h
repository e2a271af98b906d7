#pragma once

#include <vector>

#include "autograd/tape/op.h"

namespace tape {

using UnaryFunction = Tensor (*)(const Tensor&);

/// Samples of f for values in [low, high).
inline OpSamples::Samples unary_samples(UnaryFunction f, float low, float high) {
  return [=] {  // 16 bytes, which std::function stores without allocating: this runs before main()
    auto call = [f](const Tensors& in) { return f(in[0]); };
    return std::vector<OpSample>{{"matrix", {sample_uniform({3, 4}, low, high)}, call},
                                 {"rank 0", {sample_uniform({}, low, high, 7)}, call},
                                 {"rank 4", {sample_uniform({2, 1, 3, 2}, low, high, 3)}, call},
                                 {"empty", {sample_uniform({2, 0}, low, high)}, call}};
  };
}

/// Samples away from zero, where the gradient has a kink.
inline OpSamples::Samples kink_samples(UnaryFunction f) {
  return [=] {
    auto call = [f](const Tensors& in) { return f(in[0]); };
    return std::vector<OpSample>{{"matrix", {sample_distinct({3, 4})}, call}, {"rank 0", {sample_distinct({})}, call}};
  };
}

}  // namespace tape
