#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "../../base/non_copyable.h"
#include "algorithm_file.h"
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
  BlasKey key;
  BlasObject descriptor, a, b, d;
  bool has_algorithm = false;
  BlasAlgorithm algorithm = {};
  int64_t workspace_bytes = 0;

  void take(const BlasHeuristic& chosen) {
    has_algorithm = true;
    algorithm = chosen.algorithm;
    workspace_bytes = static_cast<int64_t>(chosen.workspace_bytes);
  }
};

/// cuBLASLt on one device: its handle, its workspace and the plans of the products that ran.
class BlasContext : NonCopyable {
 public:
  /// Throws Error (device) if cuBLASLt refuses, Error (config) if TAPE_CUDA_ALGORITHMS is not `measure` or `first`.
  BlasContext(Context& context, const Blas& table, uint32_t generation);
  ~BlasContext();

  uint32_t generation() const { return generation_; }
  Context& context() const { return context_; }
  /// A stream to capture products that are measured.
  void* measuring_stream() const { return measuring_stream_; }
  /// How algorithms were chosen so far.
  const BlasChoices& choices() const { return choices_; }
  /// The plan of a product, with a workspace allocated if it needs one; null if cuBLASLt has no algorithm for it.
  std::shared_ptr<BlasPlan> plan_of(const BlasProduct& product, const BlasOperands& operands);
  /// Calls cublasLtMatmul() on a stream, and allocates nothing. The calls must not overlap.
  BlasStatus call(const BlasPlan& plan, const BlasOperands& operands, void* stream) const;
  /// The same on the device's stream. If cuBLASLt does not support the plan's algorithm after all, takes the next one
  /// that it suggests; returns false, having done nothing, if it supports none of them. Throws Error (device) if
  /// cuBLASLt fails.
  bool run(BlasPlan& plan, const BlasOperands& operands);
  /// Allocates the workspace unless it is there. Throws Error (out_of_memory).
  void allocate_workspace();

 private:
  std::shared_ptr<BlasPlan> create_plan(const BlasKey& key, const BlasOperands& operands);
  void describe(BlasPlan& plan, const BlasProduct& product, const BlasOperands& operands) const;
  void describe_matrix(BlasObject& layout, const BlasProduct& product, BlasType type, int64_t rows, int64_t columns,
                       int64_t leading, int64_t stride) const;
  std::vector<BlasHeuristic> suggestions(const BlasPlan& plan, int most) const;
  void choose_algorithm(BlasPlan& plan, const BlasOperands& operands);
  bool take_decision(BlasPlan& plan, const BlasAlgorithm& algorithm) const;
  std::optional<size_t> fastest(BlasPlan& plan, const BlasOperands& operands,
                                const std::vector<BlasHeuristic>& algorithms);
  bool is_unsupported(BlasStatus status) const;
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
  std::optional<AlgorithmFile> decisions_;  // nullopt if the first suggestion is always taken
  void* measuring_stream_ = nullptr;
  double measured_microseconds_ = 0;
  BlasChoices choices_;
  std::unordered_map<BlasKey, std::shared_ptr<BlasPlan>, BlasKeyHash> plans_;
};

}  // namespace tape::cuda_device
