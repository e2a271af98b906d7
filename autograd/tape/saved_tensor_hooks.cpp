#include "autograd/tape/saved_tensor_hooks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "autograd/create.h"
#include "autograd/tape/modes.h"
#include "autograd/tape/tape.h"

namespace tape {
namespace {

class HookedTensor final : public PackedTensor {
 public:
  HookedTensor(const Tensor& value, std::shared_ptr<const std::any> packed,
               std::shared_ptr<const SavedTensorHooks::Unpack> unpack)
      : PackedTensor(value), packed_(std::move(packed)), unpack_(std::move(unpack)) {}

 private:
  Tensor value(const char* operation) const override {
    Tensor value = (*unpack_)(*packed_);
    if (!value.defined() || !(value.shape() == shape()) || value.dtype() != dtype())
      raise(ErrorKind::shape, "backward of '{}': it saved {} {}, the hook unpacked {}", operation, to_string(dtype()),
            to_string(shape()),
            value.defined() ? fmt::format("{} {}", to_string(value.dtype()), to_string(value.shape())) : "nothing");
    return value;
  }

  const std::shared_ptr<const std::any> packed_;
  const std::shared_ptr<const SavedTensorHooks::Unpack> unpack_;
};

}  // namespace

SavedTensorHooks::SavedTensorHooks(Pack pack, Unpack unpack)
    : pack_(std::move(pack)),
      unpack_(std::make_shared<const Unpack>(std::move(unpack))),
      innermost_(detail::modes.saved_tensor_hooks, this) {}

std::shared_ptr<const std::any> SavedTensorHooks::pack(const Tensor& value) {
  const NoGrad no_grad;
  return std::make_shared<const std::any>(pack_(value.detach()));
}

std::shared_ptr<const std::any> SavedTensorHooks::pack_once(const Key& key, const Tensor& value) {
  if (known_.size() >= prune_size_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    prune_size_ = std::max<size_t>(prune_size_, 2 * known_.size());
  }
  const auto known = known_.find(key);
  if (known != known_.end())
    if (std::shared_ptr<const std::any> packed = known->second.lock()) return packed;
  std::shared_ptr<const std::any> packed = pack(value);
  known_[key] = packed;
  return packed;
}

std::unique_ptr<const PackedTensor> pack_saved(const Tensor& value, const Node* maker, uint32_t output) {
  SavedTensorHooks* const innermost = detail::modes.saved_tensor_hooks;
  if (!innermost || !is_floating(value.dtype())) return nullptr;
  const TensorImpl& place = value.impl();
  if (place.node && place.node->is_leaf()) return nullptr;
  return std::make_unique<const HookedTensor>(
      value, maker ? innermost->pack_once({maker->sequence, output, value.version()}, value) : innermost->pack(value),
      innermost->unpack_);
}

}  // namespace tape
