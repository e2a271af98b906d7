// Compares cuBLASLt's table and values with the declarations of its own header, where there is one.
#include <gtest/gtest.h>

#ifdef TAPE_HAVE_CUBLASLT_HEADER
#include <cublasLt.h>

#include <cstddef>
#include <type_traits>

#include "autograd/cuda/blas.h"
#include "tests/cuda/matching_types.h"

namespace tape::cuda_device {
namespace {

#define EXPECT_MATCH(field, function) \
  EXPECT_TRUE(matches(std::type_identity<decltype(Blas::field)>(), std::type_identity<decltype(&function)>())) << #field

TEST(CublasLtSignatures, FunctionsMatchTheHeader) {
  EXPECT_MATCH(get_version, cublasLtGetVersion);
  EXPECT_MATCH(get_status_name, cublasLtGetStatusName);
  EXPECT_MATCH(create, cublasLtCreate);
  EXPECT_MATCH(destroy, cublasLtDestroy);
  EXPECT_MATCH(matmul_create, cublasLtMatmulDescCreate);
  EXPECT_MATCH(matmul_destroy, cublasLtMatmulDescDestroy);
  EXPECT_MATCH(matmul_set, cublasLtMatmulDescSetAttribute);
  EXPECT_MATCH(layout_create, cublasLtMatrixLayoutCreate);
  EXPECT_MATCH(layout_destroy, cublasLtMatrixLayoutDestroy);
  EXPECT_MATCH(layout_set, cublasLtMatrixLayoutSetAttribute);
  EXPECT_MATCH(preference_create, cublasLtMatmulPreferenceCreate);
  EXPECT_MATCH(preference_destroy, cublasLtMatmulPreferenceDestroy);
  EXPECT_MATCH(preference_set, cublasLtMatmulPreferenceSetAttribute);
  EXPECT_MATCH(get_heuristic, cublasLtMatmulAlgoGetHeuristic);
  EXPECT_MATCH(algorithm_check, cublasLtMatmulAlgoCheck);
  EXPECT_MATCH(matmul, cublasLtMatmul);
}

TEST(CublasLtSignatures, StructsMatchTheHeader) {
  EXPECT_EQ(sizeof(BlasAlgorithm), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(BlasHeuristic), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(BlasHeuristic, workspace_bytes), offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(BlasHeuristic, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(offsetof(BlasHeuristic, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
}

/// Enumerators of either side as integers.
template <class Ours, class Header>
bool same_value(Ours ours, Header header) {
  return static_cast<int64_t>(ours) == static_cast<int64_t>(header);
}

TEST(CublasLtSignatures, StatusesAndTypesMatchTheHeader) {
  EXPECT_TRUE(same_value(blas_status::success, CUBLAS_STATUS_SUCCESS));
  EXPECT_TRUE(same_value(blas_status::not_initialized, CUBLAS_STATUS_NOT_INITIALIZED));
  EXPECT_TRUE(same_value(blas_status::alloc_failed, CUBLAS_STATUS_ALLOC_FAILED));
  EXPECT_TRUE(same_value(blas_status::invalid_value, CUBLAS_STATUS_INVALID_VALUE));
  EXPECT_TRUE(same_value(blas_status::execution_failed, CUBLAS_STATUS_EXECUTION_FAILED));
  EXPECT_TRUE(same_value(blas_status::not_supported, CUBLAS_STATUS_NOT_SUPPORTED));
  EXPECT_TRUE(same_value(BlasType::f32, CUDA_R_32F));
  EXPECT_TRUE(same_value(BlasType::f64, CUDA_R_64F));
  EXPECT_TRUE(same_value(BlasType::f16, CUDA_R_16F));
  EXPECT_TRUE(same_value(BlasType::bf16, CUDA_R_16BF));
  EXPECT_TRUE(same_value(BlasCompute::f32, CUBLAS_COMPUTE_32F));
  EXPECT_TRUE(same_value(BlasCompute::f64, CUBLAS_COMPUTE_64F));
  EXPECT_TRUE(same_value(BlasCompute::tf32, CUBLAS_COMPUTE_32F_FAST_TF32));
}

TEST(CublasLtSignatures, AttributesMatchTheHeader) {
  EXPECT_TRUE(same_value(matmul_attribute::transpose_a, CUBLASLT_MATMUL_DESC_TRANSA));
  EXPECT_TRUE(same_value(matmul_attribute::transpose_b, CUBLASLT_MATMUL_DESC_TRANSB));
  EXPECT_TRUE(same_value(matmul_attribute::epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE));
  EXPECT_TRUE(same_value(matmul_attribute::bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER));
  EXPECT_TRUE(same_value(layout_attribute::batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
  EXPECT_TRUE(same_value(layout_attribute::batch_stride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
  EXPECT_TRUE(same_value(preference_attribute::workspace_bytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
  EXPECT_TRUE(same_value(preference_attribute::reduction_schemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK));
  EXPECT_TRUE(same_value(preference_attribute::alignment_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES));
  EXPECT_TRUE(same_value(preference_attribute::alignment_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES));
  EXPECT_TRUE(same_value(preference_attribute::alignment_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES));
  EXPECT_TRUE(same_value(preference_attribute::alignment_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES));
  EXPECT_TRUE(same_value(blas_operation::none, CUBLAS_OP_N));
  EXPECT_TRUE(same_value(blas_operation::transpose, CUBLAS_OP_T));
  EXPECT_TRUE(same_value(blas_epilogue::none, CUBLASLT_EPILOGUE_DEFAULT));
  EXPECT_TRUE(same_value(blas_epilogue::bias, CUBLASLT_EPILOGUE_BIAS));
  EXPECT_TRUE(same_value(blas_epilogue::sums_of_b, CUBLASLT_EPILOGUE_BGRADB));
  EXPECT_TRUE(same_value(reduction_scheme::in_place, CUBLASLT_REDUCTION_SCHEME_INPLACE));
  EXPECT_TRUE(same_value(reduction_scheme::in_compute_type, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  EXPECT_TRUE(same_value(reduction_scheme::in_output_type, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE));
}

}  // namespace
}  // namespace tape::cuda_device

#else

TEST(CublasLtSignatures, MatchTheHeaderOfCublasLt) { GTEST_SKIP() << "cublasLt.h was not found"; }

#endif
