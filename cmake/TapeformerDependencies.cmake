find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)

# OpenBLAS, in its OpenMP variant if available, which can be limited to the calling thread and then starts none. It is loaded
# by soname on first use (autograd/kernels/product/common/blas.cpp). xtensor-blas calls its LAPACK through
# autograd/kernels/linalg/common/lapack.cpp.
find_library(TAPEFORMER_OPENBLAS NAMES openblas PATH_SUFFIXES openblas-openmp REQUIRED)
find_path(TAPEFORMER_OPENBLAS_INCLUDE cblas.h
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE} openblas REQUIRED)
get_filename_component(TAPEFORMER_OPENBLAS_DIR ${TAPEFORMER_OPENBLAS} DIRECTORY)
add_library(tapeformer_blas INTERFACE)
target_include_directories(tapeformer_blas SYSTEM INTERFACE ${TAPEFORMER_OPENBLAS_INCLUDE})
# A wheel has an OpenBLAS of its own beside the library, in which every name has a prefix.
set(TAPEFORMER_OPENBLAS_FILE "" CACHE STRING "File of OpenBLAS at run time, if not the one found; $ORIGIN is the library's folder")
set(TAPEFORMER_OPENBLAS_PREFIX "" CACHE STRING "Prefix of the names of that file's functions")
set(blas_file "${TAPEFORMER_OPENBLAS_FILE}")
if(NOT blas_file)
  set(blas_file ${TAPEFORMER_OPENBLAS_DIR}/libopenblas.so.0)
endif()
target_compile_definitions(tapeformer_blas INTERFACE
  "TAPEFORMER_OPENBLAS_FILE=\"${blas_file}\"" "TAPEFORMER_OPENBLAS_PREFIX=\"${TAPEFORMER_OPENBLAS_PREFIX}\"")
target_link_libraries(tapeformer_blas INTERFACE ${CMAKE_DL_LIBS})
message(STATUS "OpenBLAS: ${TAPEFORMER_OPENBLAS}")

# g++ ships libbacktrace in its own folder. With it, a Trace names files and lines; without it, functions.
include(CheckCXXSourceCompiles)
add_library(tapeformer_backtrace INTERFACE)
set(CMAKE_REQUIRED_LIBRARIES backtrace)
check_cxx_source_compiles("
#include <backtrace.h>
int main() { return backtrace_create_state(nullptr, 1, nullptr, nullptr) == nullptr; }" TAPEFORMER_HAS_BACKTRACE)
unset(CMAKE_REQUIRED_LIBRARIES)
if(TAPEFORMER_HAS_BACKTRACE)
  target_link_libraries(tapeformer_backtrace INTERFACE backtrace)
  target_compile_definitions(tapeformer_backtrace INTERFACE TAPE_HAVE_BACKTRACE)
endif()
target_link_libraries(tapeformer_backtrace INTERFACE ${CMAKE_DL_LIBS})

if("linalg" IN_LIST components)
  # xtensor and xtensor-blas are header-only. autograd/xtensor.h is the only header that includes xtensor, so its users need
  # xtensor too, but building core does not. Only autograd/ops/linalg/lapack.cpp uses xtensor-blas.
  find_package(xtensor REQUIRED)
  include(CheckXtensor)
  find_path(TAPEFORMER_XTENSOR_BLAS_INCLUDE xtensor-blas/xlinalg.hpp REQUIRED)
  add_library(tapeformer_xtensor_blas INTERFACE)
  target_include_directories(tapeformer_xtensor_blas SYSTEM INTERFACE ${TAPEFORMER_XTENSOR_BLAS_INCLUDE})
  target_link_libraries(tapeformer_xtensor_blas INTERFACE xtensor)
endif()

if("text" IN_LIST components)
  find_package(nlohmann_json 3.10 REQUIRED)
  # Unicode tables for the tokenizers.
  find_path(TAPEFORMER_UTF8PROC_INCLUDE utf8proc.h REQUIRED)
  find_library(TAPEFORMER_UTF8PROC NAMES utf8proc REQUIRED)
  # Regular expressions of tokenizers.
  find_path(TAPEFORMER_ONIGURUMA_INCLUDE oniguruma.h REQUIRED)
  find_library(TAPEFORMER_ONIGURUMA NAMES onig REQUIRED)
  # SentencePiece models and their training, which is a separate library.
  find_path(TAPEFORMER_SENTENCEPIECE_INCLUDE sentencepiece_trainer.h REQUIRED)
  find_library(TAPEFORMER_SENTENCEPIECE NAMES sentencepiece REQUIRED)
  find_library(TAPEFORMER_SENTENCEPIECE_TRAIN NAMES sentencepiece_train REQUIRED)
  add_library(tapeformer_text_libraries INTERFACE)
  target_include_directories(tapeformer_text_libraries SYSTEM INTERFACE
    ${TAPEFORMER_UTF8PROC_INCLUDE} ${TAPEFORMER_ONIGURUMA_INCLUDE} ${TAPEFORMER_SENTENCEPIECE_INCLUDE})
  target_link_libraries(tapeformer_text_libraries INTERFACE
    ${TAPEFORMER_UTF8PROC} ${TAPEFORMER_ONIGURUMA} ${TAPEFORMER_SENTENCEPIECE_TRAIN} ${TAPEFORMER_SENTENCEPIECE})

  # Checksums of checkpoints; header-only.
  find_path(TAPEFORMER_XXHASH_INCLUDE xxhash.h REQUIRED)
  add_library(tapeformer_xxhash INTERFACE)
  target_include_directories(tapeformer_xxhash SYSTEM INTERFACE ${TAPEFORMER_XXHASH_INCLUDE})
endif()

if("models" IN_LIST components)
  # Compression of zip archives (.npz). Linked by path, so that the package needs no find module for it.
  find_path(TAPEFORMER_ZLIB_INCLUDE zlib.h REQUIRED)
  find_library(TAPEFORMER_ZLIB NAMES z REQUIRED)
  add_library(tapeformer_zlib INTERFACE)
  target_include_directories(tapeformer_zlib SYSTEM INTERFACE ${TAPEFORMER_ZLIB_INCLUDE})
  target_link_libraries(tapeformer_zlib INTERFACE ${TAPEFORMER_ZLIB})
endif()

if("train" IN_LIST components)
  # Optional data-parallel training through the C API of any MPI 3. Only the sources that use MPI are compiled differently; all
  # other objects are the same as without it.
  add_library(tapeformer_mpi INTERFACE)
  set(TAPEFORMER_MPI_SOURCES train/distributed/world.cpp)
  if(TAPEFORMER_MPI)
    find_package(MPI 3.0 REQUIRED COMPONENTS CXX)
    target_link_libraries(tapeformer_mpi INTERFACE $<LINK_ONLY:MPI::MPI_CXX>)
    list(APPEND TAPEFORMER_MPI_SOURCES train/distributed/mpi.cpp)
    list(TRANSFORM MPI_CXX_INCLUDE_DIRS PREPEND "-isystem" OUTPUT_VARIABLE mpi_headers)
    set_source_files_properties(${TAPEFORMER_MPI_SOURCES} PROPERTIES COMPILE_OPTIONS "${mpi_headers}"
      COMPILE_DEFINITIONS "TAPEFORMER_HAS_MPI;OMPI_SKIP_MPICXX;MPICH_SKIP_MPICXX")
  endif()
  set_source_files_properties(${TAPEFORMER_MPI_SOURCES} PROPERTIES SKIP_PRECOMPILE_HEADERS ON SKIP_UNITY_BUILD_INCLUSION ON)
endif()
