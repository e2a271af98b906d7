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
  EXPECT_MATCH(stream_begin_capture, cuStreamBeginCapture);
  EXPECT_MATCH(stream_end_capture, cuStreamEndCapture);
  EXPECT_MATCH(event_create, cuEventCreate);
  EXPECT_MATCH(event_record, cuEventRecord);
  EXPECT_MATCH(event_synchronize, cuEventSynchronize);
  EXPECT_MATCH(event_query, cuEventQuery);
  EXPECT_MATCH(event_elapsed_time, cuEventElapsedTime);
  EXPECT_MATCH(event_destroy, cuEventDestroy);
  EXPECT_MATCH(mem_get_info, cuMemGetInfo);
  EXPECT_MATCH(mem_get_allocation_granularity, cuMemGetAllocationGranularity);
  EXPECT_MATCH(mem_address_reserve, cuMemAddressReserve);
  EXPECT_MATCH(mem_create, cuMemCreate);
  EXPECT_MATCH(mem_map, cuMemMap);
  EXPECT_MATCH(mem_set_access, cuMemSetAccess);
  EXPECT_MATCH(mem_unmap, cuMemUnmap);
  EXPECT_MATCH(mem_release, cuMemRelease);
  EXPECT_MATCH(mem_alloc, cuMemAlloc);
  EXPECT_MATCH(mem_free, cuMemFree);
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
  EXPECT_MATCH(graph_create, cuGraphCreate);
  EXPECT_MATCH(graph_add_kernel, cuGraphAddKernelNode_v2);
  EXPECT_MATCH(graph_add_copy, cuGraphAddMemcpyNode);
  EXPECT_MATCH(graph_add_fill, cuGraphAddMemsetNode);
  EXPECT_MATCH(graph_add_child, cuGraphAddChildGraphNode);
  EXPECT_MATCH(graph_instantiate, cuGraphInstantiateWithFlags);
  EXPECT_MATCH(graph_set_kernel, cuGraphExecKernelNodeSetParams_v2);
  EXPECT_MATCH(graph_set_copy, cuGraphExecMemcpyNodeSetParams);
  EXPECT_MATCH(graph_set_fill, cuGraphExecMemsetNodeSetParams);
  EXPECT_MATCH(graph_set_child, cuGraphExecChildGraphNodeSetParams);
  EXPECT_MATCH(graph_upload, cuGraphUpload);
  EXPECT_MATCH(graph_launch, cuGraphLaunch);
  EXPECT_MATCH(graph_destroy, cuGraphDestroy);
  EXPECT_MATCH(graph_exec_destroy, cuGraphExecDestroy);
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

#define EXPECT_FIELD(own, field, theirs, other) EXPECT_EQ(offsetof(own, field), offsetof(theirs, other)) << #field

TEST(CudaSignatures, NodesOfGraphsMatchTheHeader) {
  EXPECT_EQ(sizeof(KernelNode), sizeof(CUDA_KERNEL_NODE_PARAMS));
  EXPECT_FIELD(KernelNode, function, CUDA_KERNEL_NODE_PARAMS, func);
  EXPECT_FIELD(KernelNode, grid_x, CUDA_KERNEL_NODE_PARAMS, gridDimX);
  EXPECT_FIELD(KernelNode, grid_z, CUDA_KERNEL_NODE_PARAMS, gridDimZ);
  EXPECT_FIELD(KernelNode, block_x, CUDA_KERNEL_NODE_PARAMS, blockDimX);
  EXPECT_FIELD(KernelNode, block_z, CUDA_KERNEL_NODE_PARAMS, blockDimZ);
  EXPECT_FIELD(KernelNode, shared_bytes, CUDA_KERNEL_NODE_PARAMS, sharedMemBytes);
  EXPECT_FIELD(KernelNode, arguments, CUDA_KERNEL_NODE_PARAMS, kernelParams);
  EXPECT_FIELD(KernelNode, extra, CUDA_KERNEL_NODE_PARAMS, extra);
  EXPECT_FIELD(KernelNode, kernel, CUDA_KERNEL_NODE_PARAMS, kern);
  EXPECT_FIELD(KernelNode, context, CUDA_KERNEL_NODE_PARAMS, ctx);

  EXPECT_EQ(sizeof(CopyNode), sizeof(CUDA_MEMCPY3D));
  EXPECT_EQ(CopyNode().from.memory, CU_MEMORYTYPE_DEVICE);
  EXPECT_EQ(memory_type::host, CU_MEMORYTYPE_HOST);
  EXPECT_FIELD(CopyNode, from.x, CUDA_MEMCPY3D, srcXInBytes);
  EXPECT_FIELD(CopyNode, from.memory, CUDA_MEMCPY3D, srcMemoryType);
  EXPECT_FIELD(CopyNode, from.host, CUDA_MEMCPY3D, srcHost);
  EXPECT_FIELD(CopyNode, from.device, CUDA_MEMCPY3D, srcDevice);
  EXPECT_FIELD(CopyNode, from.pitch, CUDA_MEMCPY3D, srcPitch);
  EXPECT_FIELD(CopyNode, to.x, CUDA_MEMCPY3D, dstXInBytes);
  EXPECT_FIELD(CopyNode, to.memory, CUDA_MEMCPY3D, dstMemoryType);
  EXPECT_FIELD(CopyNode, to.device, CUDA_MEMCPY3D, dstDevice);
  EXPECT_FIELD(CopyNode, to.height, CUDA_MEMCPY3D, dstHeight);
  EXPECT_FIELD(CopyNode, bytes, CUDA_MEMCPY3D, WidthInBytes);
  EXPECT_FIELD(CopyNode, height, CUDA_MEMCPY3D, Height);
  EXPECT_FIELD(CopyNode, depth, CUDA_MEMCPY3D, Depth);

  EXPECT_EQ(sizeof(FillNode), sizeof(CUDA_MEMSET_NODE_PARAMS));
  EXPECT_FIELD(FillNode, to, CUDA_MEMSET_NODE_PARAMS, dst);
  EXPECT_FIELD(FillNode, pitch, CUDA_MEMSET_NODE_PARAMS, pitch);
  EXPECT_FIELD(FillNode, value, CUDA_MEMSET_NODE_PARAMS, value);
  EXPECT_FIELD(FillNode, element_size, CUDA_MEMSET_NODE_PARAMS, elementSize);
  EXPECT_FIELD(FillNode, width, CUDA_MEMSET_NODE_PARAMS, width);
  EXPECT_FIELD(FillNode, height, CUDA_MEMSET_NODE_PARAMS, height);
}

TEST(CudaSignatures, ConstantsMatchTheHeader) {
  EXPECT_EQ(result::invalid_value, CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(result::out_of_memory, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(result::no_device, CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(result::invalid_image, CUDA_ERROR_INVALID_IMAGE);
  EXPECT_EQ(result::invalid_context, CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(result::no_binary_for_gpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
  EXPECT_EQ(result::invalid_ptx, CUDA_ERROR_INVALID_PTX);
  EXPECT_EQ(result::unsupported_ptx_version, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
  EXPECT_EQ(result::invalid_handle, CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(result::illegal_state, CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(result::not_found, CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(result::not_ready, CUDA_ERROR_NOT_READY);
  EXPECT_EQ(result::capture_unsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(result::capture_invalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(result::capture_implicit, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(result::capture_wrong_thread, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  EXPECT_EQ(capture_mode::thread_local_calls, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(capture_mode::relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
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
