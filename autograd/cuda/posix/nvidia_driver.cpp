#include <dlfcn.h>

#include <mutex>

#include <fmt/format.h>

#include "autograd/cuda/driver.h"
#include "autograd/cuda/posix/function_loader.h"

namespace tape::cuda_device {
namespace {

void load_functions(FunctionLoader& loader, Driver& driver) {
  loader.load(driver.init, "cuInit");
  loader.load(driver.driver_get_version, "cuDriverGetVersion");
  loader.load(driver.get_error_name, "cuGetErrorName");
  loader.load(driver.get_error_string, "cuGetErrorString");
  loader.load(driver.device_get_count, "cuDeviceGetCount");
  loader.load(driver.device_get, "cuDeviceGet");
  loader.load(driver.device_get_name, "cuDeviceGetName");
  loader.load(driver.device_get_attribute, "cuDeviceGetAttribute");
  loader.load(driver.device_total_mem, "cuDeviceTotalMem_v2");
  loader.load(driver.primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  loader.load(driver.ctx_set_current, "cuCtxSetCurrent");
  loader.load(driver.stream_create, "cuStreamCreate");
  loader.load(driver.stream_synchronize, "cuStreamSynchronize");
  loader.load(driver.stream_begin_capture, "cuStreamBeginCapture_v2");
  loader.load(driver.stream_end_capture, "cuStreamEndCapture");
  loader.load(driver.event_create, "cuEventCreate");
  loader.load(driver.event_record, "cuEventRecord");
  loader.load(driver.event_synchronize, "cuEventSynchronize");
  loader.load(driver.event_query, "cuEventQuery");
  loader.load(driver.event_destroy, "cuEventDestroy_v2");
  loader.load_optional(driver.event_elapsed_time, "cuEventElapsedTime_v2");  // since CUDA 12.8
  if (!driver.event_elapsed_time) loader.load(driver.event_elapsed_time, "cuEventElapsedTime");
  loader.load(driver.mem_get_info, "cuMemGetInfo_v2");
  loader.load(driver.mem_get_allocation_granularity, "cuMemGetAllocationGranularity");
  loader.load(driver.mem_address_reserve, "cuMemAddressReserve");
  loader.load(driver.mem_create, "cuMemCreate");
  loader.load(driver.mem_map, "cuMemMap");
  loader.load(driver.mem_set_access, "cuMemSetAccess");
  loader.load(driver.mem_unmap, "cuMemUnmap");
  loader.load(driver.mem_release, "cuMemRelease");
  loader.load(driver.mem_alloc, "cuMemAlloc_v2");
  loader.load(driver.mem_free, "cuMemFree_v2");
  loader.load(driver.mem_host_alloc, "cuMemHostAlloc");
  loader.load(driver.mem_free_host, "cuMemFreeHost");
  loader.load(driver.memcpy_to_device, "cuMemcpyHtoDAsync_v2");
  loader.load(driver.memcpy_to_host, "cuMemcpyDtoHAsync_v2");
  loader.load(driver.memcpy_on_device, "cuMemcpyDtoDAsync_v2");
  loader.load(driver.memset_bytes, "cuMemsetD8Async");
  loader.load(driver.module_load_data, "cuModuleLoadData");
  loader.load(driver.module_get_function, "cuModuleGetFunction");
  loader.load(driver.func_set_attribute, "cuFuncSetAttribute");
  loader.load(driver.launch_kernel, "cuLaunchKernel");
  loader.load(driver.graph_create, "cuGraphCreate");
  loader.load(driver.graph_add_kernel, "cuGraphAddKernelNode_v2");
  loader.load(driver.graph_add_copy, "cuGraphAddMemcpyNode");
  loader.load(driver.graph_add_fill, "cuGraphAddMemsetNode");
  loader.load(driver.graph_add_child, "cuGraphAddChildGraphNode");
  loader.load(driver.graph_instantiate, "cuGraphInstantiateWithFlags");
  loader.load(driver.graph_set_kernel, "cuGraphExecKernelNodeSetParams_v2");
  loader.load(driver.graph_set_copy, "cuGraphExecMemcpyNodeSetParams");
  loader.load(driver.graph_set_fill, "cuGraphExecMemsetNodeSetParams");
  loader.load(driver.graph_set_child, "cuGraphExecChildGraphNodeSetParams");
  loader.load(driver.graph_upload, "cuGraphUpload");
  loader.load(driver.graph_launch, "cuGraphLaunch");
  loader.load(driver.graph_destroy, "cuGraphDestroy");
  loader.load(driver.graph_exec_destroy, "cuGraphExecDestroy");
  loader.load_optional(driver.func_get_param_info, "cuFuncGetParamInfo");
}

}  // namespace

const Driver* load_nvidia_driver(std::string& reason) {
  static std::mutex mutex;
  static Driver table{};
  static bool loaded = false;
  const std::lock_guard lock(mutex);
  if (loaded) return &table;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    reason = "no NVIDIA driver (libcuda.so.1 not found)";
    return nullptr;
  }
  FunctionLoader loader(library);
  load_functions(loader, table);
  if (!loader.missing().empty()) {
    reason = fmt::format("the NVIDIA driver has no {}: update it", loader.missing());
    dlclose(library);
    return nullptr;
  }
  loaded = true;
  return &table;
}

}  // namespace tape::cuda_device
