#pragma once

#include <stdint.h>

/// Factors of an update of Adam, rounded to T on the host.
template <class T>
struct AdamFactors {
  T beta1, rest1, beta2, rest2;  // rest = 1 - beta
  T rate, root, eps;             // lr / c1, sqrt(c2)
  T shrink, decay;               // of the weight, of the gradient
};
/// A parameter; `factors` is an index, `first` the number of its first chunk.
template <class T>
struct AdamParameter {
  using Factors = AdamFactors<T>;
  int64_t factors, first, n;
  const T* gradient;
  T *parameter, *m, *v;
  void* rounded;  // bf16, or null
};
/// The same with running means in bf16.
struct Bf16AdamParameter {
  using Factors = AdamFactors<float>;
  int64_t factors, first, n;
  const float* gradient;
  float* parameter;
  uint16_t *m, *v;
  uint64_t key;
  void* rounded;
};

template <class T>
struct SgdFactors {
  T rate, momentum, rest, decay;  // rest = 1 - dampening
  bool nesterov, first;
};
template <class T>
struct SgdParameter {
  using Factors = SgdFactors<T>;
  int64_t factors, first, n;
  const T* gradient;
  T *parameter, *buffer;
};

template <class T>
struct ScaleFactors {
  T factor;
};
template <class T>
struct ScaleParameter {
  using Factors = ScaleFactors<T>;
  int64_t factors, first, n;
  T* values;
};

/// Parameters that are updated together, and what they share: at most 4 KB, as arguments of a kernel must be.
template <class Parameter>
struct OptimizerBatch {
  static constexpr int64_t kMostFactors = 12, kMostParameters = 48;
  static constexpr int64_t kChunk = 2048;  // values of a block

  int64_t count;
  typename Parameter::Factors factors[kMostFactors];
  Parameter parameters[kMostParameters];
};
