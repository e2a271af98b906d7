#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "../../base/non_copyable.h"
#include "blas_product.h"

namespace tape::cuda_device {

struct Context;

/// A descriptor, layout or preference of cuBLASLt, which it destroys.
class BlasObject : NonCopyable {
 public:
  BlasObject() = default;
  ~BlasObject() { reset(nullptr, nullptr); }

  void* get() const { return object_; }
  void reset(void* object, BlasStatus (*destroy)(void*)) {
    if (object_) destroy_(object_);
    object_ = object;
    destroy_ = destroy;
  }

 private:
  void* object_ = nullptr;
  BlasStatus (*destroy_)(void*) = nullptr;
};

/// What identifies the algorithm of a product: its sizes and how its operands are aligned. alignment_bias is that of
/// what the epilogue reads or writes, 0 without one.
struct BlasKey {
  BlasProduct product;
  uint32_t epilogue = 0;
  uint32_t alignment_a = 0, alignment_b = 0, alignment_c = 0, alignment_d = 0, alignment_bias = 0;
  bool operator==(const BlasKey&) const = default;
};
struct BlasKeyHash {
  size_t operator()(const BlasKey& key) const;
};

/// A product as cuBLASLt describes it, and its algorithm.
struct BlasPlan {
  BlasProduct product;
  BlasObject descriptor, a, b, d;
  bool has_algorithm = false;
  BlasAlgorithm algorithm = {};
  int64_t workspace_bytes = 0;
};

/// cuBLASLt on one device: its handle, its workspace and the plans of the products that ran.
class BlasContext : NonCopyable {
 public:
  /// Throws Error (device) if cuBLASLt refuses.
  BlasContext(Context& context, const Blas& table, uint32_t generation);
  ~BlasContext();

  uint32_t generation() const { return generation_; }
  /// The plan of a product, with a workspace allocated if it needs one; null if cuBLASLt has no algorithm for it.
  std::shared_ptr<const BlasPlan> plan_of(const BlasProduct& product, const BlasOperands& operands);
  /// Calls cublasLtMatmul() on a stream, and allocates nothing. The calls must not overlap.
  BlasStatus call(const BlasPlan& plan, const BlasOperands& operands, void* stream) const;
  /// The same on the device's stream. Throws Error (device) if cuBLASLt refuses.
  void run(const BlasPlan& plan, const BlasOperands& operands) const;

 private:
  std::shared_ptr<const BlasPlan> create_plan(const BlasKey& key, const BlasOperands& operands) const;
  void describe(BlasPlan& plan, const BlasProduct& product, const BlasOperands& operands) const;
  void describe_matrix(BlasObject& layout, const BlasProduct& product, BlasType type, int64_t rows, int64_t columns,
                       int64_t leading, int64_t stride) const;
  void choose_algorithm(BlasPlan& plan, const BlasKey& key) const;
  void check(BlasStatus status, const char* function) const;
  /// Sets an attribute of an object by one of the table's functions.
  template <class T>
  void set(BlasStatus (*function)(void*, int, const void*, size_t), const BlasObject& object, int attribute,
           const T& value, const char* name) const {
    check(function(object.get(), attribute, &value, sizeof value), name);
  }

  Context& context_;
  const Blas& table_;
  uint32_t generation_;
  void* handle_ = nullptr;
  void* workspace_ = nullptr;
  int64_t workspace_capacity_ = 0;
  std::unordered_map<BlasKey, std::shared_ptr<const BlasPlan>, BlasKeyHash> plans_;
};

}  // namespace tape::cuda_device
