// LAPACK's routines by the names that xtensor-blas calls where it adds no underscore (CXXLAPACK_NO_UNDERSCORE). Each
// looks for OpenBLAS's at its first call, so that nothing has to be linked, and OpenBLAS is loaded when it is needed
// first. Only this library sees these names. The lengths of characters are those that Fortran expects behind all
// arguments.
#include <cstddef>

#include "autograd/kernels/product/common/blas.h"

// name parameters: finds name_ and calls it with the arguments; nothing in the parameters may be a reference.
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
  TAPE_LAPACK(s##getrf, (Int m, Int n, T * a, Int lda, int* pivots, int* info), (Int, Int, T*, Int, int*, int*), m, n, \
              a, lda, pivots, info)                                                                                    \
  TAPE_LAPACK(s##getri, (Int n, T * a, Int lda, Int pivots, T * work, Int size, int* info),                            \
              (Int, T*, Int, Int, T*, Int, int*), n, a, lda, pivots, work, size, info)                                 \
  TAPE_LAPACK(s##sytrd,                                                                                                \
              (Char uplo, Int n, T * a, Int lda, T * diagonal, T * beside, T * tau, T * work, Int size, int* info),    \
              (Char, Int, T*, Int, T*, T*, T*, T*, Int, int*, size_t), uplo, n, a, lda, diagonal, beside, tau, work,   \
              size, info, 1)                                                                                           \
  TAPE_LAPACK(s##stedc,                                                                                                \
              (Char job, Int n, T * diagonal, T * beside, T * v, Int ldv, T * work, Int size, int* integers,           \
               Int integer_size, int* info),                                                                           \
              (Char, Int, T*, T*, T*, Int, T*, Int, int*, Int, int*, size_t), job, n, diagonal, beside, v, ldv, work,  \
              size, integers, integer_size, info, 1)                                                                   \
  TAPE_LAPACK(                                                                                                         \
      s##gebrd,                                                                                                        \
      (Int m, Int n, T * a, Int lda, T * diagonal, T * above, T * tau_q, T * tau_p, T * work, Int size, int* info),    \
      (Int, Int, T*, Int, T*, T*, T*, T*, T*, Int, int*), m, n, a, lda, diagonal, above, tau_q, tau_p, work, size,     \
      info)                                                                                                            \
  TAPE_LAPACK(s##bdsdc,                                                                                                \
              (Char uplo, Char job, Int n, T * diagonal, T * above, T * u, Int ldu, T * vt, Int ldvt, T * q, int* iq,  \
               T* work, int* integers, int* info),                                                                     \
              (Char, Char, Int, T*, T*, T*, Int, T*, Int, T*, int*, T*, int*, int*, size_t, size_t), uplo, job, n,     \
              diagonal, above, u, ldu, vt, ldvt, q, iq, work, integers, info, 1, 1)                                    \
  TAPE_LAPACK(s##laed4, (Int n, Int j, const T* d, const T* z, T* apart, const T* rho, T* root, int* info),            \
              (Int, Int, const T*, const T*, T*, const T*, T*, int*), n, j, d, z, apart, rho, root, info)              \
  TAPE_LAPACK(s##sterf, (Int n, T * diagonal, T * beside, int* info), (Int, T*, T*, int*), n, diagonal, beside, info)  \
  TAPE_LAPACK(s##gelsd,                                                                                                \
              (Int m, Int n, Int columns, T * a, Int lda, T * b, Int ldb, T * values, const T* rcond, int* rank,       \
               T* work, Int size, int* integers, int* info),                                                           \
              (Int, Int, Int, T*, Int, T*, Int, T*, const T*, int*, T*, Int, int*, int*), m, n, columns, a, lda, b,    \
              ldb, values, rcond, rank, work, size, integers, info)

TAPE_LAPACK_OF(float, s)
TAPE_LAPACK_OF(double, d)
