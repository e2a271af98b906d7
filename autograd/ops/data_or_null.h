#pragma once

#include "../tensor.h"

namespace tape {

/// The values of an operand that may be left out, as kernels take it: null where the tensor is undefined.
template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}
/// The same, to be written.
template <class T>
T* mutable_data_or_null(Tensor& x) {
  return x.defined() ? x.mutable_data<T>() : nullptr;
}

}  // namespace tape
