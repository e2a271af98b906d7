// LAPACK routines under the names that xtensor-blas calls when it adds no underscore (CXXLAPACK_NO_UNDERSCORE). Each
// resolves OpenBLAS's routine on its first call, so that nothing has to be linked and OpenBLAS is only loaded when
// needed. The names are local to this library. The string lengths are those that Fortran expects after all arguments.
#include <cstddef>

#include "autograd/kernels/product/common/blas.h"

// name parameters: resolves name_ and calls it with the arguments; parameters must not be references.
#define TAPE_LAPACK(name, parameters, lengths, ...)                                                          \
  extern "C" __attribute__((visibility("hidden"))) void name parameters;                                     \
  extern "C" void name parameters {                                                                          \
    static const auto function = reinterpret_cast<void(*) lengths>(tape::kernels::blas_function(#name "_")); \
    function(__VA_ARGS__);                                                                                   \
  }

namespace {
using Char = const char*;
using Int = const int*;
}  // namespace

#define TAPE_LAPACK_OF(T, s)                                                                                           \
  TAPE_LAPACK(s##potrf, (Char uplo, Int n, T * a, Int lda, int* info), (Char, Int, T*, Int, int*, size_t), uplo, n, a, \
              lda, info, 1)                                                                                            \
  TAPE_LAPACK(s##getrf, (Int m, Int n, T * a, Int lda, int* pivots, int* info), (Int, Int, T*, Int, int*, int*), m, n, \
              a, lda, pivots, info)                                                                                    \
  TAPE_LAPACK(s##getri, (Int n, T * a, Int lda, Int pivots, T * work, Int size, int* info),                            \
              (Int, T*, Int, Int, T*, Int, int*), n, a, lda, pivots, work, size, info)                                 \
  TAPE_LAPACK(s##getrs, (Char trans, Int n, Int columns, const T* a, Int lda, Int pivots, T* b, Int ldb, int* info),   \
              (Char, Int, Int, const T*, Int, Int, T*, Int, int*, size_t), trans, n, columns, a, lda, pivots, b, ldb,  \
              info, 1)                                                                                                 \
  TAPE_LAPACK(s##trtrs,                                                                                                \
              (Char uplo, Char trans, Char diag, Int n, Int columns, const T* a, Int lda, T* b, Int ldb, int* info),   \
              (Char, Char, Char, Int, Int, const T*, Int, T*, Int, int*, size_t, size_t, size_t), uplo, trans, diag,   \
              n, columns, a, lda, b, ldb, info, 1, 1, 1)                                                               \
  TAPE_LAPACK(s##gelqf, (Int m, Int n, T * a, Int lda, T * tau, T * work, Int size, int* info),                        \
              (Int, Int, T*, Int, T*, T*, Int, int*), m, n, a, lda, tau, work, size, info)                             \
  TAPE_LAPACK(s##orglq, (Int m, Int n, Int k, T * a, Int lda, const T* tau, T* work, Int size, int* info),             \
              (Int, Int, Int, T*, Int, const T*, T*, Int, int*), m, n, k, a, lda, tau, work, size, info)               \
  TAPE_LAPACK(s##syevd,                                                                                                \
              (Char job, Char uplo, Int n, T * a, Int lda, T * values, T * work, Int size, int* integers,              \
               Int integer_size, int* info),                                                                           \
              (Char, Char, Int, T*, Int, T*, T*, Int, int*, Int, int*, size_t, size_t), job, uplo, n, a, lda, values,  \
              work, size, integers, integer_size, info, 1, 1)                                                          \
  TAPE_LAPACK(s##gesdd,                                                                                                \
              (Char job, Int m, Int n, T * a, Int lda, T * values, T * u, Int ldu, T * vt, Int ldvt, T * work,         \
               Int size, int* integers, int* info),                                                                    \
              (Char, Int, Int, T*, Int, T*, T*, Int, T*, Int, T*, Int, int*, int*, size_t), job, m, n, a, lda, values, \
              u, ldu, vt, ldvt, work, size, integers, info, 1)                                                         \
  TAPE_LAPACK(s##gelsd,                                                                                                \
              (Int m, Int n, Int columns, T * a, Int lda, T * b, Int ldb, T * values, const T* rcond, int* rank,       \
               T* work, Int size, int* integers, int* info),                                                           \
              (Int, Int, Int, T*, Int, T*, Int, T*, const T*, int*, T*, Int, int*, int*), m, n, columns, a, lda, b,    \
              ldb, values, rcond, rank, work, size, integers, info)

TAPE_LAPACK_OF(float, s)
TAPE_LAPACK_OF(double, d)
