#pragma once

#include "../tensor.h"

namespace tape::detail {

/// Gives a tensor other values temporarily; restore() or the destructor restores its own.
class ScopedValues : NonCopyable {
 public:
  ~ScopedValues() { restore(); }

  void take(const Tensor& tensor, const Tensor& values) {
    restore();
    tensor_ = tensor;
    TensorImpl& impl = tensor_.impl();
    storage_ = impl.storage;
    offset_ = impl.offset;
    values.impl().storage->set_version(tensor.version());
    impl.storage = values.impl().storage;
    impl.offset = values.impl().offset;
  }
  void restore() {
    if (!tensor_.defined()) return;
    tensor_.impl().storage = storage_;
    tensor_.impl().offset = offset_;
    tensor_ = Tensor();
    storage_ = {};
  }
  const Tensor& tensor() const { return tensor_; }

 private:
  Tensor tensor_;
  Ref<Storage> storage_;
  int64_t offset_ = 0;
};

}  // namespace tape::detail
