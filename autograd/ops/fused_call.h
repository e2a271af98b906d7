#pragma once

#include <span>

#include "kernel_call.h"

// The arguments with which an operation's struct calls its kernels; see fused.h.
namespace tape {

/// Inputs of a call, in the order of the operation's formula. Optional inputs may be undefined.
using Inputs = std::span<const Tensor>;

/// Data pointers of a call's tensors on the device of its kernels; null for undefined tensors.
template <class T>
class CallValues : public kernels::Place<T> {
 public:
  /// The tensor itself, for its shape and strides.
  const Tensor& input(size_t i) const { return inputs_[i]; }
  const T* in(size_t i) const { return at_.in<T>(inputs_[i]); }
  /// An input of the type of sums: a parameter, which is f32 beside bf16.
  const kernels::Sum<T>* parameter(size_t i) const { return at_.in<kernels::Sum<T>>(inputs_[i]); }
  template <class U>
  const U* constant(size_t i) const {
    return at_.in<U>(constants_[i]);
  }
  /// The call itself, for kernels of a fixed type and for further tensors.
  const KernelCall& at() const { return at_; }

 protected:
  CallValues(const KernelCall& at, Inputs inputs, Inputs constants)
      : kernels::Place<T>{at}, at_(at), inputs_(inputs), constants_(constants) {}

 private:
  const KernelCall& at_;
  const Inputs inputs_, constants_;
};

/// Argument of the forward kernel.
template <class T>
class ForwardCall : public CallValues<T> {
 public:
  ForwardCall(const KernelCall& at, Inputs inputs, Inputs constants, std::span<Tensor> outputs, std::span<Tensor> kept)
      : CallValues<T>(at, inputs, constants), outputs_(outputs), kept_(kept) {}

  /// Number of elements of the first output.
  int64_t numel() const { return outputs_[0].numel(); }
  /// An output itself.
  Tensor& output(size_t i = 0) const { return outputs_[i]; }
  T* out(size_t i = 0) const { return out_as<T>(i); }
  /// Output of another dtype than the call's.
  template <class U>
  U* out_as(size_t i = 0) const {
    return this->at().template out<U>(outputs_[i]);
  }
  T* kept(size_t i) const { return kept_as<T>(i); }
  /// Kept value of another dtype than the call's.
  template <class U>
  U* kept_as(size_t i) const {
    return this->at().template out<U>(kept_[i]);
  }

 private:
  const std::span<Tensor> outputs_, kept_;
};

/// Argument of the backward kernel.
template <class T>
class BackwardCall : public CallValues<T> {
 public:
  /// `adds`: the gradient of input 0 has values, to which its own are added.
  BackwardCall(const KernelCall& at, Inputs inputs, Inputs outputs, Inputs kept, Inputs constants, Inputs arriving,
               std::span<Tensor> gradients, bool adds)
      : CallValues<T>(at, inputs, constants),
        outputs_(outputs),
        kept_(kept),
        arriving_(arriving),
        gradients_(gradients),
        adds_(adds) {}

  /// Number of elements of the first output.
  int64_t numel() const { return arriving_[0].numel(); }
  const T* out(size_t i = 0) const { return this->at().template in<T>(outputs_[i]); }
  const T* kept(size_t i) const { return kept_as<T>(i); }
  template <class U>
  const U* kept_as(size_t i) const {
    return this->at().template in<U>(kept_[i]);
  }
  /// The gradient of output i itself.
  const Tensor& arriving(size_t i = 0) const { return arriving_[i]; }
  /// Gradient of output i. If none arrived: zeros for the first output, null for others.
  const T* dout(size_t i = 0) const { return dout_as<T>(i); }
  template <class U>
  const U* dout_as(size_t i = 0) const {
    return this->at().template in<U>(arriving_[i]);
  }
  /// The gradient of input i itself, undefined if it is not needed.
  const Tensor& gradient(size_t i) const { return gradients_[i]; }
  /// Gradient of input i, to be written; null if it is not needed.
  T* din(size_t i) const { return this->at().template out<T>(gradients_[i]); }
  /// Values to be added to the gradient of input 0, or null. Only of operations with adds_gradient.
  const T* added() const { return adds_ ? din(0) : nullptr; }
  /// Gradient of a parameter().
  kernels::Sum<T>* dparameter(size_t i) const { return this->at().template out<kernels::Sum<T>>(gradients_[i]); }

 private:
  const Inputs outputs_, kept_, arriving_;
  const std::span<Tensor> gradients_;
  const bool adds_;
};

}  // namespace tape
