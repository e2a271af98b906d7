#pragma once

#include <cstdint>

#include "../../kernels/runtime/common/memory.h"

namespace tape::linalg {

/// Uninitialized values for one call.
template <class T>
class Working {
 public:
  explicit Working(int64_t n)
      : values_(static_cast<T*>(kernels::acquire_scratch(static_cast<uint64_t>(n) * sizeof(T)))) {}
  ~Working() { kernels::release_scratch(values_); }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;
  T* data() const { return values_; }

 private:
  T* values_;
};

}  // namespace tape::linalg
