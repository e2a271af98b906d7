#pragma once

#include <optional>

#include "../../kernels/random/random.h"
#include "calls.h"

namespace tape {

// Dropout is deferred (calls.h), and so is the sum of a tensor and a deferred dropout:
//
// - The backward pass of an activation whose gradient is a deferred dropout computes it on the way.
// - x + dropout(y), as of a residual, is one launch: dropout's result is neither written nor read.
// - A norm of that sum computes it on the way. The norm's backward pass, whose result is the gradient of the sum, also
//   writes the gradient of y, which is a dropout of it. If others add to the gradient of the sum later, that was in
//   vain.

/// A sum that has not begun: a + dropout(b).
class DeferredSum : public DeferredCall {
 public:
  DeferredSum(const KernelCall& at, const Tensor& a, const Tensor& b, const kernels::Dropout& dropout, Tensor& sum);
  void launch(std::span<const DeferredCall* const> together, std::span<void* const> blocks) const override;

  /// The operands of kernels that write the sum to z.
  template <class T>
  kernels::DroppedSum<T> to(void* z) const {
    return {static_cast<const T*>(a_), static_cast<const T*>(b_), dropout_, static_cast<T*>(z)};
  }
  const kernels::Dropout& dropout() const { return dropout_; }

 private:
  const int64_t n_;
  const void *const a_, *const b_;
  const kernels::Dropout dropout_;
};

/// Remembers with a tensor that it is a sum with this dropout.
void note_dropped_sum(const Tensor& x, const kernels::Dropout& dropout);

/// Remembers y = dropout(x) for later, of any dtype but f16. Returns false, having done nothing, if it must run now.
bool defer_dropout(const KernelCall& at, const Tensor& x, const kernels::Dropout& dropout, Tensor& y);

/// The operands of a dropout that has not begun.
struct DroppedTensor {
  Tensor x;
  kernels::Dropout dropout;
};
/// Those of y, or none if it is no such dropout.
std::optional<DroppedTensor> deferred_dropout(const Tensor& y);

/// Remembers sum = a + b, of one shape and dtype, if either is a dropout that has not begun. Otherwise returns false,
/// having done nothing.
bool defer_dropped_sum(const Tensor& a, const Tensor& b, Tensor& sum);

/// If x is such a sum, calls use(sum) to launch kernels of a norm that write it to sum.z, and returns true.
template <class T, class Use>
bool launch_with_dropped_sum(const Tensor& x, const Use& use) {
  return DeferredCalls::instance().launch_with<DeferredSum>(x, [&](const DeferredSum& sum, void* block) {
    use(sum.to<T>(block));
    note_dropped_sum(x, sum.dropout());
  });
}

/// The dropout in a sum that a norm has computed; null for other tensors.
const kernels::Dropout* dropout_in_sum(const Tensor& x);

/// Keeps the dropout of a gradient with it.
void keep_dropped(const Tensor& gradient, const kernels::Dropout& dropout, const Tensor& dropped);
/// Takes it if the gradient has one of these draws and has not changed since; otherwise undefined.
Tensor take_dropped(const Tensor& gradient, const kernels::Dropout& dropout);

}  // namespace tape
