#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "../base/non_copyable.h"

namespace tape {

/// Base class with an intrusive reference count.
class RefCounted : NonCopyable {
 public:
  /// Number of references; another thread may change it at any time.
  int64_t use_count() const { return count_.load(std::memory_order_relaxed); }
  /// Adds a reference.
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns whether this was the last reference.
  bool release() const { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 protected:
  ~RefCounted() = default;

 private:
  mutable std::atomic<int64_t> count_{0};
};

/// Called when the last reference is released; overloaded by types that must not be deleted directly.
template <class T>
void dispose(T* object) {
  delete object;
}

/// Intrusive shared pointer to a RefCounted object.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}  ///< null
  /// Adds a reference to the object, which may be null.
  explicit Ref(T* object) : object_(object) {
    if (object_) object_->retain();
  }
  /// As for std::shared_ptr.
  /// @{
  Ref(const Ref& other) : Ref(other.object_) {}
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  /// @}
  ~Ref() {
    if (object_ && object_->release()) dispose(object_);
  }

  /// As for std::shared_ptr; operator== compares addresses.
  /// @{
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  bool operator==(const Ref& other) const { return object_ == other.object_; }
  /// @}

 private:
  T* object_ = nullptr;
};

}  // namespace tape
