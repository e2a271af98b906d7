#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "blas_product.h"
#include "driver.h"
#include "stream.h"

namespace tape::cuda_device {

struct BlasPlan;

/// Kernels, products of cuBLASLt, copies and fills in their order, with copies of their arguments.
class WorkList {
 public:
  enum class Kind : uint8_t { kernel, copy, fill, product };
  struct Work {
    Kind kind;
    std::string name = {};       // of a kernel
    std::string operation = {};  // that asked for it, or ""
    void* function = nullptr;
    Grid blocks = {}, threads = {};
    uint32_t shared_bytes = 0;
    size_t first_argument = 0, arguments = 0;  // of a kernel
    DevicePointer to = 0, from = 0;            // of a copy or fill
    size_t bytes = 0;
    uint8_t value = 0;
    std::shared_ptr<const BlasPlan> plan = nullptr;  // of a product
    BlasOperands operands = {};

    /// For messages; null without an operation.
    const char* operation_name() const { return operation.empty() ? nullptr : operation.c_str(); }
  };
  /// A change of an allocation before the work with an index, of which an emulated device is informed.
  struct Allocation {
    size_t index;
    DevicePointer address;
    size_t bytes, capacity;
  };

  void add_kernel(const char* name, void* function, Grid blocks, Grid threads, uint32_t shared_bytes,
                  const void* const* arguments, const size_t* sizes, size_t count);
  void add_copy(DevicePointer to, DevicePointer from, size_t bytes);
  void add_fill(DevicePointer to, uint8_t value, size_t bytes);
  void add_product(std::shared_ptr<const BlasPlan> plan, const BlasOperands& operands);
  void add_allocation(DevicePointer address, size_t bytes, size_t capacity);
  void clear();

  const std::vector<Work>& works() const { return works_; }
  const std::vector<Allocation>& allocations() const { return allocations_; }
  bool empty() const { return works_.empty() && allocations_.empty(); }
  /// Addresses of a kernel's arguments, valid until the list changes.
  void point_at_arguments(const Work& kernel, std::vector<void*>& pointers) const;

  /// What a graph cannot change: the order, kernels, plans of products, and sizes. Lists that agree in it have the same
  /// hash.
  uint64_t hash_of_shape() const;
  bool same_shape(const WorkList& other) const;
  /// Whether the arguments of two works of the same shape are the same.
  bool same_arguments(size_t index, const WorkList& other) const;

 private:
  struct Argument {
    size_t offset, bytes;
  };

  static void name_operation(Work& work);

  std::vector<Work> works_;
  std::vector<Argument> arguments_;
  std::vector<std::byte> bytes_;  // of all arguments, each at a multiple of the strictest alignment
  std::vector<Allocation> allocations_;
};

}  // namespace tape::cuda_device
