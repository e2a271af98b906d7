#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "exchanged.h"
#include "packed_tensor.h"

namespace tape {

/// While in scope, what operations save for their gradients is packed as it is saved and unpacked when a backward needs
/// it, wherever that is called: to hold activations rounded, compressed, or in a file.
///
///     const SavedTensorHooks hooks(
///         [](const Tensor& x) -> std::any { return store.put(x); },
///         [](const std::any& key) { return store.get(std::any_cast<int64_t>(key)); });
///
/// Floating tensors are packed, but for leaves that need gradients: parameters stay in memory anyway. i64 and bool
/// tensors (ids, masks) are kept as they are. A recorded value is packed once, however many operations save it, and
/// unpacked once in each backward of each of them. pack() is given a tensor without history and must not change it;
/// unpack() returns one of its shape and dtype, or Error (shape) in the backward. What is unpacked has the history of
/// what was packed, so gradients can be differentiated again. Nothing that the two do is recorded, or packed in its
/// turn. Of nested scopes the innermost counts. What both functions refer to must live until the backward; an exception
/// of either passes through.
class SavedTensorHooks {
 public:
  using Pack = std::function<std::any(const Tensor& value)>;
  using Unpack = std::function<Tensor(const std::any& packed)>;

  SavedTensorHooks(Pack pack, Unpack unpack);

 private:
  friend std::unique_ptr<const PackedTensor> packed_by_hooks(const Tensor&, const Node*, uint32_t);
  /// Place of the node in recording order, which output, version.
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;
  std::shared_ptr<const std::any> pack(const Tensor& value);
  std::shared_ptr<const std::any> pack_once(const Key& key, const Tensor& value);

  Pack pack_;
  std::shared_ptr<const Unpack> unpack_;
  const detail::Exchanged<SavedTensorHooks*> innermost_;
  std::map<Key, std::weak_ptr<const std::any>> known_;
  size_t room_ = 1024;  // entries beyond which those of values that are gone are dropped
};

/// By the innermost scope; null where there is none, or where it does not pack such values. `maker` is the node whose
/// `output` the value is, or null.
std::unique_ptr<const PackedTensor> packed_by_hooks(const Tensor& value, const Node* maker, uint32_t output);

}  // namespace tape
