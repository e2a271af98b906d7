#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../stream.h"

namespace tape::cuda_device::emulation {

/// What the emulated device reports of a kernel.
enum class FaultKind : uint8_t {
  race,                ///< two threads access the same memory, one of them writes, and nothing orders the accesses
  divergent_barrier,   ///< threads of a block or warp wait at different barriers or shuffles
  out_of_bounds,       ///< an access to device or shared memory outside of an allocation or array
  uninitialized_read,  ///< a read of device or shared memory that was never written
  host_pointer,        ///< an argument or an access with a pointer to host memory
  misaligned,          ///< an address that is not a multiple of its type's alignment
  division_by_zero,    ///< an integer division by zero
  inactive_lane,       ///< a shuffle that reads a lane that does not take part
};
std::string_view to_string(FaultKind kind);  ///< "race", "out of bounds"

/// A fault of a kernel.
struct Fault {
  FaultKind kind = FaultKind::race;
  std::string kernel;          ///< name of the kernel
  std::string operation = {};  ///< that launched it, or ""
  std::string file;            ///< source file, or "" without debug information
  int line = 0;                ///< line in it
  Grid block{0, 0, 0};         ///< index of the block
  Grid thread{0, 0, 0};        ///< index of the thread in its block
  std::string message;         ///< all of it as a sentence
};

}  // namespace tape::cuda_device::emulation
