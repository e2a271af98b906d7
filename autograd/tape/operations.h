#pragma once

#include "../tensor.h"

// The operations that the tape itself runs, declared here so that it includes nothing that is built on it; they are
// defined with all others.
namespace tape {

Tensor add(const Tensor& a, const Tensor& b);        // ops/elementwise/arithmetic.h
Tensor alias(const Tensor& x);                       // ops/shape/shape.h
Tensor sum_to(const Tensor& x, const Shape& shape);  // ops/shape/shape.h

}  // namespace tape
