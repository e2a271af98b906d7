#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tape::cuda_device {

/// An address in device memory, the driver API's CUdeviceptr.
using DevicePointer = unsigned long long;
/// A result of the driver API, its CUresult; 0 is success.
using Result = int;

/// Results of the driver API that the library distinguishes.
namespace result {
inline constexpr Result success = 0, invalid_value = 1, out_of_memory = 2, device_unavailable = 46, no_device = 100,
                        invalid_image = 200, invalid_context = 201, no_binary_for_gpu = 209, invalid_ptx = 218,
                        unsupported_ptx_version = 222, invalid_handle = 400, illegal_state = 401, not_found = 500,
                        not_ready = 600, capture_unsupported = 900, capture_invalidated = 901, capture_implicit = 906,
                        capture_wrong_thread = 908;
}

/// Attributes of a device or a function that the library reads or sets, with the driver API's values.
namespace attribute {
inline constexpr int multiprocessors = 16, capability_major = 75, capability_minor = 76, shared_memory_optin = 97,
                     virtual_memory = 102;       // of a device
inline constexpr int dynamic_shared_memory = 8;  // of a function
}  // namespace attribute

/// CUstreamCaptureMode: which calls are refused while a stream is being captured: unsafe ones of the thread that
/// captures, or none.
namespace capture_mode {
inline constexpr int thread_local_calls = 1, relaxed = 2;
}

/// CUmemorytype: where the ends of a copy are.
namespace memory_type {
inline constexpr int host = 1, device = 2;
}

/// CUmemAllocationProp: pinned memory of one device.
struct AllocationProperties {
  int type = 1;
  int handle_types = 0;
  int location_type = 1;
  int device = 0;
  void* win32 = nullptr;
  unsigned char flags[8] = {};
};

/// CUmemAccessDesc: a device that may read and write.
struct AccessDescription {
  int location_type = 1;
  int device = 0;
  int access = 3;
};

/// CUDA_KERNEL_NODE_PARAMS_v2: a kernel of a graph.
struct KernelNode {
  void* function = nullptr;
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned block_x = 1, block_y = 1, block_z = 1;
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
  void* kernel = nullptr;
  void* context = nullptr;
};

/// CUDA_MEMCPY3D: a copy of a graph, by default within device memory and of one row.
struct CopyNode {
  struct End {
    size_t x = 0, y = 0, z = 0, level = 0;
    int memory = memory_type::device;
    void* host = nullptr;
    DevicePointer device = 0;
    void* array = nullptr;
    void* reserved = nullptr;
    size_t pitch = 0, height = 0;
  };
  End from, to;
  size_t bytes = 0, height = 1, depth = 1;
};

/// CUDA_MEMSET_NODE_PARAMS: a fill of a graph, by default of one row of bytes.
struct FillNode {
  DevicePointer to = 0;
  size_t pitch = 0;
  unsigned value = 0;
  unsigned element_size = 1;
  size_t width = 0, height = 1;
};

/// The functions of CUDA's driver API that the library calls, as a table: those of the NVIDIA driver, or others that
/// stand in for them, such as the emulated device's.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*driver_get_version)(int* version);
  Result (*get_error_name)(Result result, const char** name);
  Result (*get_error_string)(Result result, const char** text);
  Result (*device_get_count)(int* count);
  Result (*device_get)(int* device, int index);
  Result (*device_get_name)(char* name, int bytes, int device);
  Result (*device_get_attribute)(int* value, int attribute, int device);
  Result (*device_total_mem)(size_t* bytes, int device);
  Result (*primary_ctx_retain)(void** context, int device);
  Result (*ctx_set_current)(void* context);
  Result (*stream_create)(void** stream, unsigned flags);
  Result (*stream_synchronize)(void* stream);
  Result (*stream_begin_capture)(void* stream, int mode);
  Result (*stream_end_capture)(void* stream, void** graph);
  Result (*event_create)(void** event, unsigned flags);
  Result (*event_record)(void* event, void* stream);
  Result (*event_synchronize)(void* event);
  Result (*event_query)(void* event);
  Result (*event_elapsed_time)(float* milliseconds, void* start, void* end);
  Result (*event_destroy)(void* event);
  Result (*mem_get_info)(size_t* free_bytes, size_t* total_bytes);
  Result (*mem_get_allocation_granularity)(size_t* bytes, const AllocationProperties* properties, int option);
  Result (*mem_address_reserve)(DevicePointer* address, size_t bytes, size_t alignment, DevicePointer hint,
                                unsigned long long flags);
  Result (*mem_create)(unsigned long long* handle, size_t bytes, const AllocationProperties* properties,
                       unsigned long long flags);
  Result (*mem_map)(DevicePointer address, size_t bytes, size_t offset, unsigned long long handle,
                    unsigned long long flags);
  Result (*mem_set_access)(DevicePointer address, size_t bytes, const AccessDescription* access, size_t count);
  Result (*mem_unmap)(DevicePointer address, size_t bytes);
  Result (*mem_release)(unsigned long long handle);
  Result (*mem_alloc)(DevicePointer* address, size_t bytes);
  Result (*mem_free)(DevicePointer address);
  Result (*mem_host_alloc)(void** pointer, size_t bytes, unsigned flags);
  Result (*mem_free_host)(void* pointer);
  Result (*memcpy_to_device)(DevicePointer to, const void* from, size_t bytes, void* stream);
  Result (*memcpy_to_host)(void* to, DevicePointer from, size_t bytes, void* stream);
  Result (*memcpy_on_device)(DevicePointer to, DevicePointer from, size_t bytes, void* stream);
  Result (*memset_bytes)(DevicePointer to, unsigned char value, size_t bytes, void* stream);
  Result (*module_load_data)(void** module, const void* image);
  Result (*module_get_function)(void** function, void* module, const char* name);
  Result (*func_set_attribute)(void* function, int attribute, int value);
  Result (*launch_kernel)(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, void* stream, void** arguments,
                          void** extra);

  Result (*graph_create)(void** graph, unsigned flags);
  Result (*graph_add_kernel)(void** node, void* graph, void* const* after, size_t count, const KernelNode* kernel);
  Result (*graph_add_copy)(void** node, void* graph, void* const* after, size_t count, const CopyNode* copy,
                           void* context);
  Result (*graph_add_fill)(void** node, void* graph, void* const* after, size_t count, const FillNode* fill,
                           void* context);
  Result (*graph_add_child)(void** node, void* graph, void* const* after, size_t count, void* child);
  Result (*graph_instantiate)(void** executable, void* graph, unsigned long long flags);
  Result (*graph_set_kernel)(void* executable, void* node, const KernelNode* kernel);
  Result (*graph_set_copy)(void* executable, void* node, const CopyNode* copy, void* context);
  Result (*graph_set_fill)(void* executable, void* node, const FillNode* fill, void* context);
  Result (*graph_set_child)(void* executable, void* node, void* child);
  Result (*graph_upload)(void* executable, void* stream);
  Result (*graph_launch)(void* executable, void* stream);
  Result (*graph_destroy)(void* graph);
  Result (*graph_exec_destroy)(void* executable);

  /// Offset and size of a kernel's parameter; invalid_value if it has fewer. Null for drivers older than CUDA 12.4.
  Result (*func_get_param_info)(void* function, size_t index, size_t* offset, size_t* bytes) = nullptr;

  // What only an emulated device has; null for the NVIDIA driver.

  /// Finds a kernel by name without a compiled module.
  Result (*find_function)(void** function, const char* name) = nullptr;
  /// Informs it of each allocation, so that it can check bounds: `bytes` as requested, and when it is freed, 0.
  void (*set_allocated)(DevicePointer address, size_t bytes, size_t capacity) = nullptr;
  /// The same for an allocation that happens before a node of an executable graph in its next launch, or after all of
  /// them if the node is null.
  void (*set_allocated_before)(void* executable, void* node, DevicePointer address, size_t bytes,
                               size_t capacity) = nullptr;
  /// Bytes to leave unused after each allocation.
  int64_t guard_bytes = 0;
};

/// The driver in use. Throws Error (device) if unavailable() gives a reason.
const Driver& driver();

/// Why no CUDA device can be used, or nullopt if one can: no driver, a driver older than CUDA 12.0, no device, or only
/// devices that are too old for the kernels.
std::optional<std::string> unavailable();

/// Uses another driver, such as an emulated device's, from now on; null: the NVIDIA driver. Memory allocated with the
/// previous driver must not be used any more; freeing it has no effect.
void install(const Driver* driver);

/// Number of calls of install(): what was obtained from a driver is valid as long as this does not change.
uint32_t driver_generation();

/// Number of devices of the driver; 0 if unavailable().
int device_count();

/// CUDA version of the driver, such as 12040 for 12.4; 0 if unavailable().
int driver_version();

/// The NVIDIA driver's functions, loaded from libcuda.so.1 on the first call. If that fails, `reason` receives why and
/// the result is null.
const Driver* load_nvidia_driver(std::string& reason);

}  // namespace tape::cuda_device
