#include "tests/cuda/fake_driver.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "base/error.h"

namespace tape::cuda_device {
namespace {

FakeDriver* in_use = nullptr;

struct NamedResult {
  Result result;
  const char* name;
  const char* text;
};
constexpr NamedResult kNamedResults[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "CUDA-capable device(s) is/are busy or unavailable"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"},
};

const NamedResult* find_result(Result result) {
  const auto* found = std::find_if(std::begin(kNamedResults), std::end(kNamedResults),
                                   [&](const auto& r) { return r.result == result; });
  return found == std::end(kNamedResults) ? nullptr : found;
}

Result device_attribute(int* value, int name, int device) {
  const FakeDriver::Device& of = in_use->devices[static_cast<size_t>(device)];
  const std::map<int, int> values = {{attribute::multiprocessors, 132},
                                     {attribute::capability_major, of.capability / 10},
                                     {attribute::capability_minor, of.capability % 10},
                                     {attribute::shared_memory_optin, 227 << 10},
                                     {attribute::virtual_memory, of.virtual_memory}};
  *value = values.at(name);
  return 0;
}

bool fails_once_more(int& times) { return times > 0 && times-- > 0; }

Driver make_fake_table() {
  Driver d{};
  d.init = [](unsigned) { return in_use->init; };
  d.driver_get_version = [](int* version) { return *version = in_use->version, 0; };
  d.get_error_name = [](Result result, const char** name) {
    const NamedResult* found = find_result(result);
    return found ? (*name = found->name, 0) : 1;
  };
  d.get_error_string = [](Result result, const char** text) {
    const NamedResult* found = find_result(result);
    return found ? (*text = found->text, 0) : 1;
  };
  d.device_get_count = [](int* count) { return *count = static_cast<int>(in_use->devices.size()), 0; };
  d.device_get = [](int* device, int index) { return *device = index, 0; };
  d.device_get_name = [](char* name, int bytes, int device) {
    std::strncpy(name, in_use->devices[static_cast<size_t>(device)].name.c_str(), static_cast<size_t>(bytes));
    return 0;
  };
  d.device_get_attribute = device_attribute;
  d.device_total_mem = [](size_t* bytes, int) { return *bytes = static_cast<size_t>(in_use->total_memory), 0; };
  d.primary_ctx_retain = [](void** context, int) { return *context = nullptr, in_use->retain; };
  d.ctx_set_current = [](void*) { return 0; };
  d.stream_create = [](void** stream, unsigned) { return *stream = nullptr, 0; };
  d.stream_synchronize = [](void*) { return ++in_use->synchronized, in_use->synchronize; };
  d.event_create = [](void** event, unsigned) { return *event = in_use, 0; };
  d.event_record = [](void*, void*) { return 0; };
  d.event_synchronize = [](void*) { return in_use->synchronize; };
  d.event_query = [](void*) { return in_use->synchronize; };
  d.event_elapsed_time = [](float* milliseconds, void*, void*) { return *milliseconds = 0, in_use->synchronize; };
  d.event_destroy = [](void*) { return 0; };
  d.mem_get_info = [](size_t* free_bytes, size_t* total) {
    *total = static_cast<size_t>(in_use->total_memory);
    *free_bytes = static_cast<size_t>(in_use->total_memory - in_use->used_memory);
    return 0;
  };
  d.mem_get_allocation_granularity = [](size_t* bytes, const AllocationProperties*, int) {
    return *bytes = static_cast<size_t>(FakeDriver::kPage), 0;
  };
  d.mem_address_reserve = [](DevicePointer* address, size_t, size_t, DevicePointer, unsigned long long) {
    return *address = DevicePointer{1} << 40, 0;
  };
  d.mem_create = [](unsigned long long* handle, size_t bytes, const AllocationProperties*, unsigned long long) {
    if (in_use->used_memory + static_cast<int64_t>(bytes) > in_use->total_memory) return result::out_of_memory;
    in_use->used_memory += static_cast<int64_t>(bytes);
    return *handle = bytes, result::success;
  };
  d.mem_map = [](DevicePointer, size_t, size_t, unsigned long long, unsigned long long) { return ++in_use->mapped, 0; };
  d.mem_set_access = [](DevicePointer, size_t, const AccessDescription*, size_t) { return 0; };
  d.mem_unmap = [](DevicePointer, size_t) { return ++in_use->unmapped, 0; };
  d.mem_release = [](unsigned long long handle) { return in_use->used_memory -= static_cast<int64_t>(handle), 0; };
  d.mem_alloc = [](DevicePointer* address, size_t bytes) {
    if (in_use->used_memory + static_cast<int64_t>(bytes) > in_use->total_memory) return result::out_of_memory;
    in_use->used_memory += static_cast<int64_t>(bytes);
    *address = (DevicePointer{2} << 40) + (in_use->allocated.size() << 20);
    in_use->allocated.push_back(static_cast<int64_t>(bytes));
    return result::success;
  };
  d.mem_free = [](DevicePointer address) {
    const size_t index = (address - (DevicePointer{2} << 40)) >> 20;
    in_use->used_memory -= std::exchange(in_use->allocated[index], 0);
    return result::success;
  };
  d.mem_host_alloc = [](void** pointer, size_t bytes, unsigned) {
    static char memory[512];
    return bytes > sizeof memory ? result::out_of_memory : (*pointer = memory, result::success);
  };
  d.mem_free_host = [](void*) { return 0; };
  d.memcpy_to_device = [](DevicePointer, const void*, size_t, void*) { return in_use->synchronize; };
  d.memcpy_to_host = [](void*, DevicePointer, size_t, void*) { return 0; };
  d.memcpy_on_device = [](DevicePointer, DevicePointer, size_t, void*) { return 0; };
  d.memset_bytes = [](DevicePointer, unsigned char, size_t, void*) { return 0; };
  d.module_load_data = [](void** module, const void*) {
    *module = in_use;
    return fails_once_more(in_use->loads_without_memory) ? result::out_of_memory : in_use->load;
  };
  d.module_get_function = [](void** function, void*, const char* name) {
    const auto& known = in_use->functions;
    if (std::find(known.begin(), known.end(), name) == known.end()) return result::not_found;
    return *function = in_use, result::success;
  };
  d.func_set_attribute = [](void*, int, int) { return 0; };
  d.launch_kernel = [](void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                       void**) {
    return fails_once_more(in_use->launches_without_memory) ? result::out_of_memory : in_use->launch;
  };
  return d;
}

}  // namespace

FakeDriver::FakeDriver() {
  static const Driver table = make_fake_table();
  in_use = this;
  install(&table);
}

FakeDriver::~FakeDriver() {
  install(nullptr);
  in_use = nullptr;
}

}  // namespace tape::cuda_device
