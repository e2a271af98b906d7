#pragma once

#include <cstdint>
#include <vector>

#include "autograd/cuda/memory.h"
#include "autograd/cuda/stream.h"

namespace tape::cuda_device {

/// Values in device memory.
template <class T>
class DeviceArray : NonCopyable {
 public:
  explicit DeviceArray(size_t count) : count_(count) { data_ = static_cast<T*>(allocate(bytes(), capacity_)); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    copy_to_device(data_, values.data(), bytes());
  }
  ~DeviceArray() { free(data_, capacity_); }

  T* get() const { return data_; }
  const T* constant() const { return data_; }
  std::vector<T> values() const {
    std::vector<T> copy(count_);
    copy_to_host(copy.data(), data_, bytes());
    return copy;
  }

 private:
  int64_t bytes() const { return static_cast<int64_t>(count_ * sizeof(T)); }

  size_t count_;
  int64_t capacity_ = 0;
  T* data_ = nullptr;
};

}  // namespace tape::cuda_device
