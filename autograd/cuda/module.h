#pragma once

#include "../../base/non_copyable.h"

namespace tape::cuda_device {

/// Compiled kernels (a fatbin), whose functions a Kernel finds by name while this exists. tapeformer_cuda_kernels() of
/// CMake embeds one in a program or library; it must outlive the use of its kernels.
class Module : NonCopyable {
 public:
  /// `image`: the fatbin. `toolkit`: version of nvcc that compiled it, such as 13000 for 13.0.
  Module(const void* image, int toolkit);
  ~Module();

  const void* image() const { return image_; }  ///< the fatbin
  int toolkit() const { return toolkit_; }      ///< version of nvcc

  mutable const Module* next_registered_ = nullptr;  ///< used only by the list of modules

 private:
  const void* image_;
  int toolkit_;
};

/// The driver's function of a kernel on the current device. Throws Error (device) if no module has it or if the driver
/// cannot load the module.
void* find_function(const char* name);

}  // namespace tape::cuda_device
