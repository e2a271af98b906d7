#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "blas_product.h"
#include "driver.h"
#include "stream.h"

namespace tape::cuda_device {

struct BlasPlan;

/// Pinned memory to copy from, and the number of its block (PinnedPool::expect_copy()): a later block at the same
/// address is other memory, which a graph must not take for it.
struct PinnedSource {
  const void* address = nullptr;
  uint64_t block = 0;
  bool operator==(const PinnedSource&) const = default;
};

/// Kernels, products of cuBLASLt, copies and fills in their order, with copies of their arguments.
class WorkList {
 public:
  enum class Kind : uint8_t { kernel, copy, upload, fill, product };
  struct Work {
    Kind kind;
    const char* name = nullptr;       // of a kernel
    const char* operation = nullptr;  // that asked for it, or null
    void* function = nullptr;
    Grid blocks = {}, threads = {};
    uint32_t shared_bytes = 0;
    size_t first_argument = 0, arguments = 0;  // of a kernel
    DevicePointer to = 0, from = 0;            // of a copy or fill
    PinnedSource host = {};                    // of an upload
    size_t bytes = 0;
    uint8_t value = 0;
    std::shared_ptr<BlasPlan> plan = nullptr;  // of a product
    BlasOperands operands = {};
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
  void add_upload(DevicePointer to, const PinnedSource& from, size_t bytes);
  void add_fill(DevicePointer to, uint8_t value, size_t bytes);
  void add_product(std::shared_ptr<BlasPlan> plan, const BlasOperands& operands);
  void add_allocation(DevicePointer address, size_t bytes, size_t capacity);
  void clear();

  const std::vector<Work>& works() const { return works_; }
  const std::vector<Allocation>& allocations() const { return allocations_; }
  /// Pinned memory of the uploads, which is not part of the list any more.
  std::vector<const void*> take_uploads() { return std::exchange(uploads_, {}); }
  bool empty() const { return works_.empty() && allocations_.empty(); }
  /// Addresses of a kernel's arguments, valid until the list changes.
  void point_at_arguments(const Work& kernel, std::vector<void*>& pointers) const;

  /// What a graph cannot change: the order, kernels and their sizes, plans of products, and sizes of fills. Lists that
  /// agree in it have the same hash.
  uint64_t hash_of_shape() const;
  bool same_shape(const WorkList& other) const;
  /// Whether the arguments of two works of the same shape are the same.
  bool same_arguments(size_t index, const WorkList& other) const;

 private:
  struct Argument {
    size_t offset, bytes;
  };

  std::vector<Work> works_;
  std::vector<Argument> arguments_;
  std::vector<std::byte> bytes_;  // of all arguments, each at a multiple of the strictest alignment
  std::vector<Allocation> allocations_;
  std::vector<const void*> uploads_;
};

}  // namespace tape::cuda_device
