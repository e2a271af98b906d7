#pragma once

#include <functional>
#include <string>

#include "tape/tape.h"

namespace tape {

/// Values of an operation from its inputs; runs without recording.
using ForwardFunction = std::function<Tensor(const Tensors& inputs)>;

/// An operation with a gradient of your own, recorded under `name`:
///
///   Tensor y = custom("swish", {x}, [](const Tensors& in) { return in[0] * sigmoid(in[0]); },
///                     [](const BackwardContext& c) -> Tensors {
///                       const Tensor s = sigmoid(c.saved(0));
///                       return {c.grad() * (s + c.saved(1) * (1 - s))};
///                     });
///
/// `backward` returns the gradient of each input, an undefined tensor for zero. c.saved(i) is input i, and
/// c.saved(inputs.size()) the output. Written in tensor operations, the gradient can be differentiated again. Check it
/// with gradcheck() of autograd/gradcheck/gradcheck.h.
Tensor custom(const std::string& name, const Tensors& inputs, const ForwardFunction& forward,
              BackwardFunction backward);

}  // namespace tape
