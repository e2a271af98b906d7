#pragma once

#include "../tensor.h"

// The operations that the tape itself uses, declared here so that it includes nothing built on top of it.
namespace tape {

Tensor add(const Tensor& a, const Tensor& b);        // ops/elementwise/arithmetic.h
Tensor alias(const Tensor& x);                       // ops/shape/shape.h
Tensor sum_to(const Tensor& x, const Shape& shape);  // ops/shape/shape.h

}  // namespace tape
