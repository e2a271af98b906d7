#pragma once

#include "../tensor.h"

namespace tape {

/// What a node saves instead of a tensor.
class PackedTensor : NonCopyable {
 public:
  virtual ~PackedTensor() = default;

  /// The value, with the history of the packed tensor. `operation` is the one that saved it, for error messages.
  Tensor unpack(const char* operation) const;
  /// An uninitialized tensor of the same shape, dtype and device.
  Tensor empty_like_packed() const;

 protected:
  /// Keeps the shape, dtype, device and history of the value, not its memory.
  explicit PackedTensor(const Tensor& value);
  const Shape& shape() const { return shape_; }   ///< of the packed tensor
  DType dtype() const { return options_.dtype; }  ///< of the packed tensor

 private:
  /// Called without recording; the caller wraps the result in a new handle.
  virtual Tensor value(const char* operation) const = 0;

  const Shape shape_;
  const TensorOptions options_;
  const Ref<Node> node_;  // null if the value has no history
  const uint32_t output_;
};

}  // namespace tape
