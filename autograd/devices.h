#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../base/device.h"

namespace tape {

/// A GPU that the driver shows.
struct DeviceInfo {
  Device device;             ///< to name it by: cuda, cuda(1)
  std::string name;          ///< such as "NVIDIA H100 80GB HBM3"
  int capability = 0;        ///< compute capability, such as 90 for 9.0
  int multiprocessors = 0;   ///< number of streaming multiprocessors
  int64_t memory_bytes = 0;  ///< of the GPU, including what other processes use
};

/// The GPUs of this machine.
struct Devices {
  std::vector<DeviceInfo> gpus;  ///< those that can run the kernels
  int driver = 0;                ///< newest CUDA version of the driver, such as 13000 for 13.0; 0 if there is none
  std::string missing;  ///< why there is no GPU: "no NVIDIA driver (libcuda.so.1 not found)"; empty if there is one
};
/// Opens the driver on the first call.
Devices devices();

/// cuBLASLt, NVIDIA's library of matrix products, which those on a GPU use if it is installed.
struct CublasLt {
  int64_t version = 0;  ///< such as 130100 for 13.1.0; 0 if it cannot be used
  std::string missing;  ///< why it cannot be used: "no cuBLASLt (libcublasLt.so.13 … not found …)"; empty if it can
};
/// Opens the driver and the library on the first call.
CublasLt cublaslt();

/// "cuda (NVIDIA H100 80GB HBM3)"; "cpu". Throws Error (device) if there is no such device.
std::string describe(Device device);

}  // namespace tape
