// Compares the driver's table with the declarations of CUDA's own header, where there is one.
#include <gtest/gtest.h>

#ifdef TAPE_HAVE_CUDA_HEADER
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "autograd/cuda/driver.h"
#include "tests/cuda/matching_types.h"

namespace tape::cuda_device {
namespace {

#define EXPECT_MATCH(field, function)                                                                            \
  EXPECT_TRUE(matches(std::type_identity<decltype(Driver::field)>(), std::type_identity<decltype(&function)>())) \
      << #field

TEST(CudaSignatures, FunctionsMatchTheHeader) {
  EXPECT_MATCH(init, cuInit);
  EXPECT_MATCH(driver_get_version, cuDriverGetVersion);
  EXPECT_MATCH(get_error_name, cuGetErrorName);
  EXPECT_MATCH(get_error_string, cuGetErrorString);
  EXPECT_MATCH(device_get_count, cuDeviceGetCount);
  EXPECT_MATCH(device_get, cuDeviceGet);
  EXPECT_MATCH(device_get_name, cuDeviceGetName);
  EXPECT_MATCH(device_get_attribute, cuDeviceGetAttribute);
  EXPECT_MATCH(device_total_mem, cuDeviceTotalMem);
  EXPECT_MATCH(primary_ctx_retain, cuDevicePrimaryCtxRetain);
  EXPECT_MATCH(ctx_set_current, cuCtxSetCurrent);
  EXPECT_MATCH(stream_create, cuStreamCreate);
  EXPECT_MATCH(stream_synchronize, cuStreamSynchronize);
  EXPECT_MATCH(event_create, cuEventCreate);
  EXPECT_MATCH(event_record, cuEventRecord);
  EXPECT_MATCH(event_synchronize, cuEventSynchronize);
  EXPECT_MATCH(event_query, cuEventQuery);
  EXPECT_MATCH(event_destroy, cuEventDestroy);
  EXPECT_MATCH(mem_get_info, cuMemGetInfo);
  EXPECT_MATCH(mem_get_allocation_granularity, cuMemGetAllocationGranularity);
  EXPECT_MATCH(mem_address_reserve, cuMemAddressReserve);
  EXPECT_MATCH(mem_create, cuMemCreate);
  EXPECT_MATCH(mem_map, cuMemMap);
  EXPECT_MATCH(mem_set_access, cuMemSetAccess);
  EXPECT_MATCH(mem_unmap, cuMemUnmap);
  EXPECT_MATCH(mem_release, cuMemRelease);
  EXPECT_MATCH(mem_host_alloc, cuMemHostAlloc);
  EXPECT_MATCH(mem_free_host, cuMemFreeHost);
  EXPECT_MATCH(memcpy_to_device, cuMemcpyHtoDAsync);
  EXPECT_MATCH(memcpy_to_host, cuMemcpyDtoHAsync);
  EXPECT_MATCH(memcpy_on_device, cuMemcpyDtoDAsync);
  EXPECT_MATCH(memset_bytes, cuMemsetD8Async);
  EXPECT_MATCH(module_load_data, cuModuleLoadData);
  EXPECT_MATCH(module_get_function, cuModuleGetFunction);
  EXPECT_MATCH(func_set_attribute, cuFuncSetAttribute);
  EXPECT_MATCH(launch_kernel, cuLaunchKernel);
#if CUDA_VERSION >= 12040
  EXPECT_MATCH(func_get_param_info, cuFuncGetParamInfo);
#endif
}

TEST(CudaSignatures, StructsMatchTheHeader) {
  EXPECT_EQ(sizeof(AllocationProperties), sizeof(CUmemAllocationProp));
  EXPECT_EQ(offsetof(AllocationProperties, device),
            offsetof(CUmemAllocationProp, location) + offsetof(CUmemLocation, id));
  EXPECT_EQ(offsetof(AllocationProperties, win32), offsetof(CUmemAllocationProp, win32HandleMetaData));
  EXPECT_EQ(offsetof(AllocationProperties, flags), offsetof(CUmemAllocationProp, allocFlags));
  EXPECT_EQ(AllocationProperties().type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(AllocationProperties().location_type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(sizeof(AccessDescription), sizeof(CUmemAccessDesc));
  EXPECT_EQ(offsetof(AccessDescription, device), offsetof(CUmemLocation, id));
  EXPECT_EQ(offsetof(AccessDescription, access), offsetof(CUmemAccessDesc, flags));
  EXPECT_EQ(AccessDescription().access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

TEST(CudaSignatures, ConstantsMatchTheHeader) {
  EXPECT_EQ(result::invalid_value, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result::no_device, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(result::invalid_image, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(result::invalid_ptx, CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(result::not_found, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(result::not_ready, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(attribute::multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  EXPECT_EQ(attribute::capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  EXPECT_EQ(attribute::capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  EXPECT_EQ(attribute::shared_memory_optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  EXPECT_EQ(attribute::virtual_memory, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
  EXPECT_EQ(attribute::dynamic_shared_memory, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
}

}  // namespace
}  // namespace tape::cuda_device

#else

TEST(CudaSignatures, MatchTheHeaderOfCuda) { GTEST_SKIP() << "cuda.h was not found"; }

#endif
