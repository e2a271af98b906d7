#pragma once

#include <type_traits>

#include "../device_checks.h"
#include "../kernels/runtime/common/isa.h"
#include "../tensor.h"

namespace tape {

class HostCopies;

/// A call of kernels of one device: what the kernel table is chosen by, and the addresses of tensors on that device.
class KernelCall : public kernels::Target {
 public:
  /// Calls of the tensors' device; `operation` is named in errors. With `copies`, the kernels are the CPU's and read
  /// and write copies of the tensors.
  KernelCall(const char* operation, Device tensors, HostCopies* copies = nullptr)
      : kernels::Target{copies ? cpu : tensors}, operation_(operation), tensors_(tensors), copies_(copies) {}

  /// Values to read; null for an undefined tensor. Throws Error (dtype) if T is not the dtype's C++ type, (device) if
  /// the tensor is on another device than the call.
  template <class T>
  const T* in(const Tensor& x) const {
    return x.defined() ? static_cast<const T*>(address(x, dtype_of<T>, false)) : nullptr;
  }
  /// Values to write, or to read and write; counts as an in-place write. Otherwise as in().
  template <class T>
  T* out(Tensor& x) const {
    return x.defined() ? static_cast<T*>(address(x, dtype_of<T>, true)) : nullptr;
  }
  /// The same for any dtype.
  /// @{
  const void* in(const Tensor& x) const { return address(x, x.dtype(), false); }
  void* out(Tensor& x) const { return address(x, x.dtype(), true); }
  /// @}

  /// Reads a value that a kernel computes: write(to) calls the kernel, which writes to *to. For operations whose
  /// control flow or shapes depend on values; the host waits for the device.
  template <class T, class Write>
  T read_back(const Write& write) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value = {};
    if (device.is_cpu()) {
      write(&value);
    } else {
      const Ref<Storage> place = Storage::allocate(sizeof(T), device);
      write(static_cast<T*>(place->data()));
      copy_back(*place, &value, sizeof(T));
    }
    return value;
  }

  /// Checks values by a kernel, run(number, finding), which writes what it finds to an empty *finding. On the CPU
  /// throws the check's Error; on a GPU the next call that waits for it does.
  template <class Run>
  void check(const ValueCheck& that, const Run& run) const {
    if (device.is_cpu()) {
      kernels::Finding found;
      run(int64_t{1}, &found);
      if (found.check) throw Error(that.kind, that.message(found.position, found.value));
    } else {
      const device_checks::Place place = device_checks::begin(that);
      run(place.number, place.finding);
      device_checks::end();
    }
  }

  /// What failed checks have found, for kernels that must then have no effect; null on the CPU, where a check throws.
  const kernels::Finding* failed_checks() const { return device.is_cpu() ? nullptr : device_checks::findings(); }

 private:
  void* address(const Tensor& x, DType asked, bool write) const {
    const TensorImpl& impl = x.impl();
    Storage& storage = *impl.storage;
    if (write) storage.bump_version();
    if (storage.device() != tensors_ || impl.dtype != asked || copies_) [[unlikely]]
      return copied(x, asked, write);
    return static_cast<char*>(storage.data()) + impl.offset;
  }
  void* copied(const Tensor& x, DType asked, bool write) const;
  void copy_back(const Storage& from, void* to, int64_t bytes) const;

  const char* operation_;
  Device tensors_;
  HostCopies* copies_;
};

namespace detail {
/// A function of a KernelCall, by reference.
class KernelBody {
 public:
  template <class Body>
  explicit KernelBody(const Body& body)
      : body_(&body), call_([](const void* it, const KernelCall& at) { (*static_cast<const Body*>(it))(at); }) {}
  void operator()(const KernelCall& at) const { call_(body_, at); }

 private:
  const void* body_;
  void (*call_)(const void*, const KernelCall&);
};
void run_kernels_elsewhere(const char* operation, Device device, bool only_on_host, const KernelBody& body);
}  // namespace detail

/// Calls body(at) with a KernelCall at, which calls kernels of the device. Kernels that the device does not have run on
/// the host, on copies: the body is then called a second time, so it must have no other effects before its first
/// kernel, and call either only one kernel or kernels of which a device has all or none. On a GPU, body may launch
/// kernels of the program (Kernel in autograd/cuda/stream.h).
///
/// Flattened, since g++ would not inline a body that is also called through KernelBody.
template <class Body>
[[gnu::flatten]] inline void run_kernels(const char* operation, Device device, const Body& body) {
  if (device.is_cpu())
    body(KernelCall(operation, device));
  else
    detail::run_kernels_elsewhere(operation, device, false, detail::KernelBody(body));
}

/// The same for code that runs on the host only: a library of the CPU, or a loop.
template <class Body>
void run_on_host(const char* operation, Device device, const Body& body) {
  if (device.is_cpu())
    body(KernelCall(operation, device));
  else
    detail::run_kernels_elsewhere(operation, device, true, detail::KernelBody(body));
}

}  // namespace tape
