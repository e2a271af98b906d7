#pragma once

#include "../tensor.h"

namespace tape {

/// A saved value in the place of a tensor.
class PackedTensor : NonCopyable {
 public:
  virtual ~PackedTensor() = default;

  /// The value, with the history of what was packed. `operation` saved it, and is named in errors.
  Tensor unpack(const char* operation) const;
  /// Memory for values of that kind.
  Tensor room() const;

 protected:
  explicit PackedTensor(const Tensor& value);
  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }

 private:
  /// Called with nothing recorded; what it gives is seen through a handle of its own.
  virtual Tensor value(const char* operation) const = 0;

  const Shape shape_;
  const DType dtype_;
  const Ref<Node> node_;  // null where the value has no history
  const uint32_t output_;
};

}  // namespace tape
