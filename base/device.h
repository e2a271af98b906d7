#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tape {

/// Where the values of a tensor are stored and its operations run: `cpu`, `cuda` (the first GPU) or `cuda(1)`.
class Device {
 public:
  /// Kinds of devices.
  enum class Kind : uint8_t { cpu, cuda };

  constexpr Device() = default;  ///< the CPU
  /// `index` counts the GPUs that the driver shows; 0 for the CPU.
  constexpr Device(Kind kind, int index) : place_(kind == Kind::cpu ? kCpu : static_cast<int8_t>(index)) {}

  constexpr Kind kind() const { return is_cpu() ? Kind::cpu : Kind::cuda; }  ///< CPU or GPU
  constexpr int index() const { return is_cpu() ? 0 : place_; }              ///< which of them
  constexpr bool is_cpu() const { return place_ == kCpu; }   ///< whether the values are in the host's memory
  constexpr bool is_cuda() const { return !is_cpu(); }       ///< whether they are on an NVIDIA GPU
  constexpr bool operator==(const Device&) const = default;  ///< same kind and index

 private:
  static constexpr int8_t kCpu = -1;
  // One byte: every kernel call compares the devices of its operands.
  int8_t place_ = kCpu;  // or the index of the GPU
};

/// The first NVIDIA GPU; cuda(1) is the second.
struct CudaDevice : Device {
  constexpr CudaDevice() : Device(Kind::cuda, 0) {}
  constexpr Device operator()(int index) const { return {Kind::cuda, index}; }  ///< the GPU of this index, from 0
};

inline constexpr Device cpu;       ///< the host
inline constexpr CudaDevice cuda;  ///< the first GPU

std::string to_string(Device device);  ///< "cpu", "cuda" or "cuda:1"
/// The inverse of to_string(); "cuda:0" is accepted too. Throws Error (config) for other texts.
Device parse_device(std::string_view text);

}  // namespace tape
