#pragma once

// Elementary functions that CUDA's headers lack, with the special values of autograd/kernels/vector/.

#include "../packs.h"

/// 1 / (1 + e^-x), accurate in both tails.
template <class T>
__device__ inline T sigmoid(T x) {
  const T e = exp(-fabs(x));
  return (x < 0 ? e : T(1)) / (1 + e);
}

/// max(x, 0) + log(1 + e^-|x|)
template <class T>
__device__ inline T softplus(T x) {
  return (x > 0 ? x : T(0)) + log1p(exp(-fabs(x)));
}
