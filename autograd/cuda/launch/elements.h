#pragma once

#include <cstdint>
#include <type_traits>

#include "../../../base/half.h"
#include "../../kernels/runtime/common/isa.h"
#include "../memory.h"
#include "../stream.h"

namespace tape::kernels::cuda {

using cuda_device::Kernel;

inline constexpr int64_t kThreads = 256;

inline int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Runs a kernel with a thread per element, for n elements; the threads of a very large grid take several.
template <class... A>
void launch_elements(const Kernel& kernel, int64_t n, A... arguments) {
  constexpr int64_t kMostBlocks = 1 << 16;
  const int64_t blocks = quotient_up(n, kThreads);
  kernel({static_cast<uint32_t>(blocks < kMostBlocks ? blocks : kMostBlocks)}, {static_cast<uint32_t>(kThreads)},
         arguments...);
}

/// The same for kernels that take packs of 16 bytes of `value_size` bytes each (kernels/packs.h).
template <class... A>
void launch_packs(const Kernel& kernel, int64_t n, int64_t value_size, A... arguments) {
  constexpr int64_t kPackBytes = 16;
  launch_elements(kernel, quotient_up(n * value_size, kPackBytes), n, arguments...);
}

/// The kernels of TAPE_EXPORT().
struct FloatKernels {
  Kernel f32, f64;

  template <class T>
  const Kernel& of() const {
    static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
    return std::is_same_v<T, float> ? f32 : f64;
  }
};
#define TAPE_FLOAT_KERNELS(name) \
  { Kernel(#name "_f32"), Kernel(#name "_f64") }

/// The kernels of TAPE_EXPORT_WITH_BF16().
struct ValueKernels {
  FloatKernels floats;
  Kernel bf16;

  template <class T>
  const Kernel& of() const {
    if constexpr (std::is_same_v<T, BFloat16>)
      return bf16;
    else
      return floats.of<T>();
  }
};
#define TAPE_VALUE_KERNELS(name) \
  { TAPE_FLOAT_KERNELS(name), Kernel(#name "_bf16") }

/// Kernels for elements of 1, 2, 4 and 8 bytes.
struct SizedKernels {
  Kernel bits8, bits16, bits32, bits64;

  const Kernel& of(int64_t element_size) const {
    return element_size == 1 ? bits8 : element_size == 2 ? bits16 : element_size == 4 ? bits32 : bits64;
  }
};
#define TAPE_SIZED_KERNELS(name) \
  { Kernel(#name "_8"), Kernel(#name "_16"), Kernel(#name "_32"), Kernel(#name "_64") }

/// Whether arrays begin at multiples of `bytes`, a power of two.
template <class... Arrays>
bool begin_at_multiples(int64_t bytes, const Arrays*... arrays) {
  return ((reinterpret_cast<uintptr_t>(arrays) % static_cast<uintptr_t>(bytes) == 0) && ...);
}

/// Device memory for the kernels of one call. It can be freed before they have run, since later users of the memory run
/// after them.
template <class T>
class DeviceScratch : NonCopyable {
 public:
  explicit DeviceScratch(int64_t count) : bytes_(count * static_cast<int64_t>(sizeof(T))) {
    data_ = static_cast<T*>(cuda_device::allocate(bytes_, capacity_));
  }
  /// With each byte set to `value`.
  DeviceScratch(int64_t count, uint8_t value) : DeviceScratch(count) { cuda_device::fill_bytes(data_, value, bytes_); }
  ~DeviceScratch() { cuda_device::free(data_, capacity_); }

  T* get() const { return data_; }
  const T* constant() const { return data_; }

 private:
  int64_t bytes_, capacity_ = 0;
  T* data_ = nullptr;
};

}  // namespace tape::kernels::cuda
