#include "autograd/cuda/emulation/emulated_driver.h"

#include <cstdio>

#include "autograd/cuda/emulation/copies.h"
#include "autograd/cuda/emulation/device_memory.h"
#include "autograd/cuda/emulation/events.h"
#include "autograd/cuda/emulation/graphs.h"
#include "autograd/cuda/emulation/launch.h"
#include "autograd/cuda/emulation/pinned_memory.h"
#include "autograd/cuda/emulation/streams.h"

namespace tape::cuda_device::emulation {
namespace {

constexpr size_t kPageBytes = 64 << 10;
constexpr int kEmulatedVersion = 13000;

char* at(DevicePointer address) { return reinterpret_cast<char*>(address); }
/// Whether a size is one that the driver reserves addresses or memory for.
bool are_pages(size_t bytes) { return bytes > 0 && bytes % kPageBytes == 0; }
Result accepted(bool valid) { return valid ? result::success : result::invalid_value; }

char primary_context;
/// The driver_generation() in which this thread has made a context current; 0: it has none.
thread_local uint32_t context_since = 0;

struct NamedResult {
  Result result;
  const char* name;
  const char* text;
};
constexpr NamedResult kNamedResults[] = {
    {result::success, "CUDA_SUCCESS", "no error"},
    {result::invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {result::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {result::invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {result::invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {result::illegal_state, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {result::not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {result::not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {result::capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {result::capture_invalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {result::capture_implicit, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {result::capture_wrong_thread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD",
     "attempt to terminate a thread-local capture sequence from another thread"},
};

NamedResult named(Result result) {
  for (const NamedResult& known : kNamedResults)
    if (known.result == result) return known;
  return {result, "CUDA_ERROR_UNKNOWN", "unknown error"};
}

Result error_name(Result result, const char** name) { return *name = named(result).name, result::success; }
Result error_string(Result result, const char** text) { return *text = named(result).text, result::success; }

Result device_attribute(int* value, int name, int) {
  switch (name) {
    case attribute::multiprocessors:
      *value = 4;
      return result::success;
    case attribute::capability_major:
      *value = 8;
      return result::success;
    case attribute::capability_minor:
      *value = 0;
      return result::success;
    case attribute::shared_memory_optin:
      *value = kMostSharedBytes;
      return result::success;
    case attribute::virtual_memory:
      *value = 1;
      return result::success;
    default:
      return result::invalid_value;
  }
}

Result parameter_info(void* function, size_t index, size_t* offset, size_t* bytes) {
  const Parameters& parameters = static_cast<const RegisteredKernel*>(function)->parameters;
  if (index >= parameters.count) return result::invalid_value;
  *offset = 0;
  *bytes = parameters.first[index].bytes;
  return result::success;
}

Driver make_driver() {
  Driver d{};
  d.init = [](unsigned) { return result::success; };
  d.driver_get_version = [](int* version) { return *version = kEmulatedVersion, result::success; };
  d.get_error_name = error_name;
  d.get_error_string = error_string;
  d.device_get_count = [](int* count) { return *count = 1, result::success; };
  d.device_get = [](int* device, int index) { return *device = index, result::success; };
  d.device_get_name = [](char* name, int bytes, int) {
    std::snprintf(name, static_cast<size_t>(bytes), "emulated device");
    return result::success;
  };
  d.device_get_attribute = device_attribute;
  d.device_total_mem = [](size_t* bytes, int) { return *bytes = device_memory()->total_bytes(), result::success; };
  d.primary_ctx_retain = [](void** context, int) { return *context = &primary_context, result::success; };
  d.ctx_set_current = [](void* context) {
    context_since = context ? driver_generation() : 0;
    return result::success;
  };
  add_stream_functions(d);
  d.stream_synchronize = [](void* stream) {
    if (const Result refused = refuse_captured(stream)) return refused;
    return work_queue().run(), result::success;
  };
  d.event_create = create_event;
  d.event_record = record_event;
  d.event_synchronize = wait_for_event;
  d.event_query = query_event;
  d.event_elapsed_time = time_between_events;
  d.event_destroy = destroy_event;
  d.mem_get_info = [](size_t* free_bytes, size_t* total) {
    *total = device_memory()->total_bytes();
    *free_bytes = *total - device_memory()->used_bytes();
    return result::success;
  };
  d.mem_get_allocation_granularity = [](size_t* bytes, const AllocationProperties*, int) {
    return *bytes = kPageBytes, result::success;
  };
  d.mem_address_reserve = [](DevicePointer* address, size_t bytes, size_t, DevicePointer, unsigned long long) {
    if (!are_pages(bytes)) return result::invalid_value;
    if (bytes > device_memory()->reserved_bytes()) return result::out_of_memory;
    *address = reinterpret_cast<DevicePointer>(device_memory()->begin());
    return result::success;
  };
  d.mem_create = [](unsigned long long* handle, size_t bytes, const AllocationProperties*, unsigned long long) {
    const auto lock = work_queue().lock();
    if (const Result refused = refuse_while_capturing()) return refused;
    if (!are_pages(bytes)) return result::invalid_value;
    *handle = device_memory()->create(bytes);
    return *handle ? result::success : result::out_of_memory;
  };
  d.mem_map = [](DevicePointer address, size_t bytes, size_t offset, unsigned long long handle, unsigned long long) {
    const auto lock = work_queue().lock();
    return accepted(address % kPageBytes == 0 && offset == 0 && device_memory()->map(at(address), bytes, handle));
  };
  d.mem_set_access = [](DevicePointer address, size_t bytes, const AccessDescription* access, size_t count) {
    const auto lock = work_queue().lock();
    return accepted(count == 1 && access->access == AccessDescription().access &&
                    device_memory()->permit(at(address), bytes));
  };
  d.mem_unmap = [](DevicePointer address, size_t bytes) {
    const auto lock = work_queue().lock();
    return accepted(device_memory()->unmap(at(address), bytes));
  };
  d.mem_release = [](unsigned long long handle) {
    const auto lock = work_queue().lock();
    return accepted(device_memory()->release(handle));
  };
  d.mem_alloc = [](DevicePointer* address, size_t bytes) {
    const auto lock = work_queue().lock();
    if (const Result refused = refuse_while_capturing()) return refused;
    if (bytes == 0) return result::invalid_value;
    *address = reinterpret_cast<DevicePointer>(device_memory()->allocate(bytes, kPageBytes));
    return *address ? result::success : result::out_of_memory;
  };
  d.mem_free = [](DevicePointer address) {
    const auto lock = work_queue().lock();
    return accepted(device_memory()->free(at(address)));
  };
  d.mem_host_alloc = [](void** pointer, size_t bytes, unsigned) {
    const auto lock = work_queue().lock();
    if (const Result refused = refuse_while_capturing()) return refused;
    if (bytes == 0) return result::invalid_value;
    return (*pointer = pinned_memory().allocate(bytes)) ? result::success : result::out_of_memory;
  };
  d.mem_free_host = [](void* pointer) {
    const auto lock = work_queue().lock();
    return pinned_memory().free(pointer), result::success;
  };
  d.memcpy_to_device = copy_to_emulated;
  d.memcpy_to_host = copy_from_emulated;
  d.memcpy_on_device = copy_within_emulated;
  d.memset_bytes = fill_emulated;
  d.func_set_attribute = [](void* function, int, int value) {
    const auto lock = work_queue().lock();
    if (value < 0 || value > kMostSharedBytes) return result::invalid_value;
    driver_state().shared_limits[function] = static_cast<size_t>(value);
    return result::success;
  };
  d.launch_kernel = launch_emulated;
  add_graph_functions(d);
  d.func_get_param_info = parameter_info;
  d.find_function = find_emulated_kernel;
  d.set_allocated = [](DevicePointer address, size_t bytes, size_t capacity) {
    work_queue().submit_allocation(at(address), bytes, capacity);
  };
  d.guard_bytes = 256;
  return d;
}

const Driver& unchecked_driver() {
  static const Driver table = make_driver();
  return table;
}

#define TAPE_NEEDS_CONTEXT(function)                                                                                   \
  d.function = [](auto... arguments) -> Result {                                                                       \
    return context_since == driver_generation() ? unchecked_driver().function(arguments...) : result::invalid_context; \
  }

/// The same with most functions refused on threads without a current context.
Driver make_checked_driver() {
  Driver d = unchecked_driver();
  TAPE_NEEDS_CONTEXT(stream_create);
  TAPE_NEEDS_CONTEXT(stream_synchronize);
  TAPE_NEEDS_CONTEXT(stream_begin_capture);
  TAPE_NEEDS_CONTEXT(stream_end_capture);
  TAPE_NEEDS_CONTEXT(event_create);
  TAPE_NEEDS_CONTEXT(event_record);
  TAPE_NEEDS_CONTEXT(event_synchronize);
  TAPE_NEEDS_CONTEXT(event_query);
  TAPE_NEEDS_CONTEXT(event_destroy);
  TAPE_NEEDS_CONTEXT(mem_get_info);
  TAPE_NEEDS_CONTEXT(mem_alloc);
  TAPE_NEEDS_CONTEXT(mem_free);
  TAPE_NEEDS_CONTEXT(mem_host_alloc);
  TAPE_NEEDS_CONTEXT(mem_free_host);
  TAPE_NEEDS_CONTEXT(memcpy_to_device);
  TAPE_NEEDS_CONTEXT(memcpy_to_host);
  TAPE_NEEDS_CONTEXT(memcpy_on_device);
  TAPE_NEEDS_CONTEXT(memset_bytes);
  TAPE_NEEDS_CONTEXT(func_set_attribute);
  TAPE_NEEDS_CONTEXT(launch_kernel);
  TAPE_NEEDS_CONTEXT(graph_instantiate);
  TAPE_NEEDS_CONTEXT(graph_set_kernel);
  TAPE_NEEDS_CONTEXT(graph_set_copy);
  TAPE_NEEDS_CONTEXT(graph_set_fill);
  TAPE_NEEDS_CONTEXT(graph_set_child);
  TAPE_NEEDS_CONTEXT(graph_upload);
  TAPE_NEEDS_CONTEXT(graph_launch);
  return d;
}
#undef TAPE_NEEDS_CONTEXT

}  // namespace

const Driver& emulated_driver() {
  static const Driver table = make_checked_driver();
  return table;
}

DriverState& driver_state() {
  static auto* state = new DriverState;
  return *state;
}

}  // namespace tape::cuda_device::emulation
