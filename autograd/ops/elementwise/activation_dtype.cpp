#include "autograd/ops/elementwise/activation_dtype.h"

#include <memory>
#include <mutex>

#include "autograd/ops/elementwise/cast.h"
#include "autograd/tape/observer.h"
#include "autograd/tape/scope.h"

namespace tape {
namespace {

struct RoundedWeight : StorageAttachment {
  std::mutex mutex;  // several threads may use one model
  Tensor values;
  uint64_t version = 0;
  int64_t offset = 0;

  bool is_of(const Tensor& weight) const {
    return values.defined() && version == weight.version() && offset == weight.ref()->offset &&
           values.shape() == weight.shape();
  }
};

/// Guards the creation of attachments.
std::mutex& creation() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

/// The copy of a weight, or null.
RoundedWeight* copy_of(const Tensor& weight) {
  return dynamic_cast<RoundedWeight*>(weight.ref()->storage->attachment());
}

/// The same, made if there is none; null if the memory has an attachment of another kind.
RoundedWeight* copy_made_of(const Tensor& weight) {
  const std::lock_guard lock(creation());
  Storage& storage = *weight.ref()->storage;
  if (!storage.attachment()) storage.set_attachment(std::make_unique<RoundedWeight>());
  return copy_of(weight);
}

}  // namespace

DType activation_dtype(const Tensor& parameter) {
  return parameter.dtype() == f32 && is_autocast_enabled(parameter.device()) ? bf16 : parameter.dtype();
}

Tensor as_activation(const Tensor& x, const Tensor& parameter) {
  return x.dtype() == f32 && activation_dtype(parameter) == bf16 ? cast(x, bf16) : x;
}

Tensor beside_activation(const Tensor& x, const Tensor& activation) {
  return x.dtype() == f32 && activation.dtype() == bf16 && is_autocast_enabled(x.device()) ? cast(x, bf16) : x;
}

Tensor rounded(const Tensor& x) {
  const NoGrad no_grad;
  const HideObservers unobserved;
  return cast(x, bf16);
}

Tensor rounded_weight(const Tensor& weight) {
  RoundedWeight* const kept = copy_made_of(weight);
  if (!kept) return rounded(weight);
  const std::lock_guard lock(kept->mutex);
  if (!kept->is_of(weight)) {
    kept->values = Tensor();
    kept->values = rounded(weight);
    kept->version = weight.version();
    kept->offset = weight.ref()->offset;
  }
  return kept->values;
}

Tensor current_rounded_weight(const Tensor& weight) {
  RoundedWeight* const kept = copy_of(weight);
  if (!kept) return {};
  const std::lock_guard lock(kept->mutex);
  return kept->is_of(weight) ? kept->values : Tensor();
}

void set_rounded(const Tensor& weight) {
  RoundedWeight* const kept = copy_of(weight);
  const std::lock_guard lock(kept->mutex);
  kept->version = weight.version();
}

Tensor weight_beside(const Tensor& activation, const Tensor& weight, bool recorded) {
  if (!weight.defined() || weight.dtype() == activation.dtype()) return weight;
  return recorded ? cast(weight, activation.dtype()) : rounded_weight(weight);
}

}  // namespace tape
