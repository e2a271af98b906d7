#include "autograd/ops/kernel_call.h"

#include <vector>

#include "autograd/cuda/context.h"
#include "autograd/cuda/stream.h"
#include "autograd/device_memory.h"
#include "autograd/kernels/runtime/common/missing.h"
#include "autograd/ops/host_fallbacks.h"

namespace tape {

/// Copies on the host of the storages of a call's tensors, whole, so that tensors that share memory still do.
class HostCopies : NonCopyable {
 public:
  void* address(const Tensor& x, bool write) {
    Copy& copy = of(x.impl().storage);
    copy.written |= write;
    return static_cast<char*>(copy.host->data()) + x.impl().offset;
  }

  /// Copies what was written back to the device.
  void write_back() const {
    for (const Copy& copy : copies_)
      if (copy.written)
        device_memory::to_device(copy.origin->device(), copy.origin->data(), copy.host->data(), copy.origin->bytes());
  }

 private:
  struct Copy {
    Ref<Storage> origin, host;
    bool written;
  };

  Copy& of(const Ref<Storage>& origin) {
    for (Copy& copy : copies_)
      if (copy.origin == origin) return copy;
    const Ref<Storage> host = Storage::allocate(origin->bytes());
    device_memory::to_host(origin->device(), host->data(), origin->data(), origin->bytes());
    return copies_.emplace_back(Copy{origin, host, false});
  }

  std::vector<Copy> copies_;
};

void* KernelCall::copied(const Tensor& x, DType asked, bool write) const {
  if (x.device() != tensors_)
    raise(ErrorKind::device, "{}: operands are on different devices: {} and {}; move one with to()", operation_,
          to_string(tensors_), to_string(x.device()));
  if (asked != x.dtype())
    raise(ErrorKind::dtype, "{}: requested {}, but the tensor is {}", operation_, to_string(asked),
          to_string(x.dtype()));
  return copies_->address(x, write);
}

void KernelCall::copy_back(const Storage& from, void* to, int64_t bytes) const {
  device_memory::to_host(device, to, from.data(), bytes);
}

void detail::run_kernels_elsewhere(const char* operation, Device device, bool only_on_host, const KernelBody& body) {
  const cuda_device::UseDevice use(device.index());
  const cuda_device::LaunchingOperation named(operation);
  if (!only_on_host) try {
      body(KernelCall(operation, device));
      return;
    } catch (const kernels::NoKernel&) {
      // Computed on the host below.
    }
  count_host_fallback(operation, device);
  HostCopies copies;
  body(KernelCall(operation, device, &copies));
  copies.write_back();
}

}  // namespace tape
