#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tape::cuda_device {

/// A result of cuBLASLt, its cublasStatus_t; 0 is success.
using BlasStatus = int;

// The values below are those of cublasLt.h, cublas_api.h and library_types.h of CUDA 13; CUDA 12 has the same ones.
// tests/cuda/blas_signatures.cpp compares them with the headers, where there are any.

/// cublasStatus_t
namespace blas_status {
inline constexpr BlasStatus success = 0, not_initialized = 1, alloc_failed = 3, invalid_value = 7,
                            execution_failed = 13, not_supported = 15;
}

/// cudaDataType: CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF
enum class BlasType : int32_t { f32 = 0, f64 = 1, f16 = 2, bf16 = 14 };

/// cublasComputeType_t: CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32F_FAST_TF32
enum class BlasCompute : int32_t { f32 = 68, f64 = 70, tf32 = 77 };

/// cublasLtMatmulDescAttributes_t
namespace matmul_attribute {
inline constexpr int transpose_a = 3, transpose_b = 4, epilogue = 7, bias_pointer = 8, bias_batch_stride = 10;
}
/// cublasLtMatrixLayoutAttribute_t
namespace layout_attribute {
inline constexpr int batch_count = 5, batch_stride = 6;
}
/// cublasLtMatmulPreferenceAttributes_t
namespace preference_attribute {
inline constexpr int workspace_bytes = 1, reduction_schemes = 3, alignment_a = 5, alignment_b = 6, alignment_c = 7,
                     alignment_d = 8;
}
/// cublasOperation_t: CUBLAS_OP_N, CUBLAS_OP_T
namespace blas_operation {
inline constexpr int32_t none = 0, transpose = 1;
}
/// cublasLtEpilogue_t: CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BGRADB, which writes the
/// sums of op(B) over the inner axis to the bias; cuBLASLt has no algorithm for it unless B is transposed
namespace blas_epilogue {
inline constexpr uint32_t none = 1, bias = 4, sums_of_b = 512;
}
/// cublasLtReductionScheme_t: how parts of a product along the inner axis are added up: in the output, in the type of
/// sums, or in the output's type.
namespace reduction_scheme {
inline constexpr uint32_t in_place = 1, in_compute_type = 2, in_output_type = 4;
}

/// cublasLtMatmulAlgo_t
struct BlasAlgorithm {
  uint64_t data[8];
};

/// cublasLtMatmulHeuristicResult_t
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspace_bytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};

/// The functions of cuBLASLt that the library calls, as a table: those of NVIDIA's library, or others that stand in for
/// them, such as the emulated device's. Handles, descriptors, layouts and preferences are opaque.
struct Blas {
  size_t (*get_version)();
  const char* (*get_status_name)(BlasStatus status);
  BlasStatus (*create)(void** handle);
  BlasStatus (*destroy)(void* handle);
  BlasStatus (*matmul_create)(void** descriptor, BlasCompute compute, BlasType scale);
  BlasStatus (*matmul_destroy)(void* descriptor);
  BlasStatus (*matmul_set)(void* descriptor, int attribute, const void* value, size_t bytes);
  BlasStatus (*layout_create)(void** layout, BlasType type, uint64_t rows, uint64_t columns, int64_t leading);
  BlasStatus (*layout_destroy)(void* layout);
  BlasStatus (*layout_set)(void* layout, int attribute, const void* value, size_t bytes);
  BlasStatus (*preference_create)(void** preference);
  BlasStatus (*preference_destroy)(void* preference);
  BlasStatus (*preference_set)(void* preference, int attribute, const void* value, size_t bytes);
  BlasStatus (*get_heuristic)(void* handle, void* descriptor, void* a, void* b, void* c, void* d, void* preference,
                              int requested, BlasHeuristic* results, int* count);
  BlasStatus (*algorithm_check)(void* handle, void* descriptor, void* a, void* b, void* c, void* d,
                                const BlasAlgorithm* algorithm, BlasHeuristic* result);
  BlasStatus (*matmul)(void* handle, void* descriptor, const void* alpha, const void* a, void* layout_a, const void* b,
                       void* layout_b, const void* beta, const void* c, void* layout_c, void* d, void* layout_d,
                       const BlasAlgorithm* algorithm, void* workspace, size_t workspace_bytes, void* stream);
};

/// Why cuBLASLt cannot be used, or nullopt if it can. Without it, products run on the library's own kernels.
std::optional<std::string> blas_unavailable();

/// The functions in use. Throws Error (device) if blas_unavailable() gives a reason.
const Blas& blas();

/// Version of cuBLASLt, such as 130100 for 13.1.0; 0 if blas_unavailable().
int64_t blas_version();

/// Uses other functions from now on; null: NVIDIA's library with the NVIDIA driver, none with another driver.
void install_blas(const Blas* table);

/// Number of changes of the functions in use: what was obtained from them is valid as long as this does not change.
uint32_t blas_generation();

/// NVIDIA's functions, loaded on the first call from libcublasLt.so.13, or .12 if the driver does not support CUDA 13:
/// where the system looks for libraries, then in the folder of a CUDA toolkit. If that fails, `reason` receives why and
/// the result is null.
const Blas* load_nvidia_blas(std::string& reason);

/// "CUBLAS_STATUS_NOT_SUPPORTED (15)".
std::string blas_status_text(const Blas& table, BlasStatus status);

}  // namespace tape::cuda_device
