#pragma once

#include "../tensor.h"

namespace tape {

/// Data pointer of an optional operand; null if the tensor is undefined.
template <class T>
const T* data_or_null(const Tensor& x) {
  return x.defined() ? x.data<T>() : nullptr;
}
/// Writable data pointer of an optional operand; null if the tensor is undefined.
template <class T>
T* mutable_data_or_null(Tensor& x) {
  return x.defined() ? x.mutable_data<T>() : nullptr;
}

}  // namespace tape
