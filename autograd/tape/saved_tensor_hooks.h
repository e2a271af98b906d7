#pragma once

#include <any>
#include <functional>
#include <map>
#include <memory>
#include <tuple>

#include "packed_tensor.h"
#include "scoped_value.h"

namespace tape {

/// While in scope, tensors that operations save for backward are packed when saved and unpacked when a backward needs
/// them, wherever that is called: to store activations rounded, compressed or in a file.
///
///     const SavedTensorHooks hooks(
///         [](const Tensor& x) -> std::any { return store.put(x); },
///         [](const std::any& key) { return store.get(std::any_cast<int64_t>(key)); });
///
/// Floating tensors are packed, except leaves that require gradients, since parameters stay in memory anyway. i64 and
/// bool tensors (ids, masks) are saved as they are. A recorded value is packed once, however many operations save it,
/// and unpacked once per operation in each backward. pack() receives a tensor without history and must not modify it;
/// unpack() must return a tensor of its shape and dtype, or the backward throws Error (shape). The unpacked tensor gets
/// the history of the packed one, so gradients can be differentiated again. What the two functions compute is neither
/// recorded nor packed. In nested scopes only the innermost applies. Everything the functions refer to must live until
/// the backward; their exceptions are passed on.
class SavedTensorHooks {
 public:
  /// Stores a value and returns whatever unpacking needs.
  using Pack = std::function<std::any(const Tensor& value)>;
  /// Returns the value for what Pack returned; may be called more than once.
  using Unpack = std::function<Tensor(const std::any& packed)>;

  /// Opens the scope on this thread.
  SavedTensorHooks(Pack pack, Unpack unpack);

 private:
  friend std::unique_ptr<const PackedTensor> pack_saved(const Tensor&, const Node*, uint32_t);
  /// Sequence number of the node, output index, version.
  using Key = std::tuple<uint64_t, uint32_t, uint64_t>;
  std::shared_ptr<const std::any> pack(const Tensor& value);
  std::shared_ptr<const std::any> pack_once(const Key& key, const Tensor& value);

  Pack pack_;
  std::shared_ptr<const Unpack> unpack_;
  const detail::ScopedValue<SavedTensorHooks*> innermost_;
  std::map<Key, std::weak_ptr<const std::any>> known_;
  size_t prune_size_ = 1024;  // size at which entries of freed values are dropped
};

/// Packs a value by the innermost scope; null if there is no scope or it does not pack such values. `maker` is the node
/// that computed the value as its `output`, or null.
std::unique_ptr<const PackedTensor> pack_saved(const Tensor& value, const Node* maker, uint32_t output);

}  // namespace tape
