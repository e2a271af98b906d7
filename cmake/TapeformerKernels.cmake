# Kernels are compiled once per CPU level and selected at run time (autograd/kernels/runtime/common/isa.h), depending on their
# folder: common/ does not benefit from wide vectors (it moves bytes, sorts, counts, selects or feeds kernels, calls a library)
# and is compiled once; posix/ calls the operating system, wasm/ stands in for it in WebAssembly (cmake/wasm); bf16/ and amx/
# need instructions beyond those of a level.
file(GLOB_RECURSE vector_kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/autograd/kernels/*.cpp)
foreach(part common posix wasm bf16 amx)
  set(${part}_kernel_sources ${vector_kernel_sources})
  list(FILTER ${part}_kernel_sources INCLUDE REGEX "/${part}/[^/]+$")
  list(REMOVE_ITEM vector_kernel_sources ${${part}_kernel_sources})
endforeach()
set(linalg_kernel_sources ${common_kernel_sources})
list(FILTER linalg_kernel_sources INCLUDE REGEX "/kernels/linalg/")
list(REMOVE_ITEM common_kernel_sources ${linalg_kernel_sources})
# Random values must have the same bits at every level: no fused multiply-adds.
set_source_files_properties(${PROJECT_SOURCE_DIR}/autograd/kernels/random/random.cpp PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)

# TAPE_LEVEL is the namespace of everything that a copy defines, so that the linker cannot mix copies.
function(tapeformer_kernel_library target level sources)
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_definitions(${target} PRIVATE TAPE_LEVEL=${level})
  target_link_libraries(${target} PRIVATE tapeformer_options tapeformer_blas OpenMP::OpenMP_CXX)
  # clang warns about `omp simd` loops that it cannot vectorize. Functions without a vector form (fmod, pow, integer
  # division) share a template with functions that have one.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-pass-failed>)
endfunction()

tapeformer_kernel_library(tapeformer_kernels common "${common_kernel_sources};${posix_kernel_sources}")
# Without alignment, their short loops take up to 1.6 times as long depending on the code that is linked before them.
target_compile_options(tapeformer_kernels PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O3> -falign-functions=64 -falign-loops=32)
target_link_libraries(tapeformer_kernels PRIVATE fmt::fmt)
set(kernel_objects $<TARGET_OBJECTS:tapeformer_kernels>)
if("linalg" IN_LIST components)
  tapeformer_kernel_library(tapeformer_linalg_kernels common "${linalg_kernel_sources}")
  set(linalg_kernel_objects $<TARGET_OBJECTS:tapeformer_linalg_kernels>)
endif()
set(TAPEFORMER_KERNELS all CACHE STRING "CPUs to compile kernels for: all, or native (only this CPU, for a faster build)")
set_property(CACHE TAPEFORMER_KERNELS PROPERTY STRINGS all native)
if(NOT TAPEFORMER_KERNELS MATCHES "^(all|native)$")
  message(FATAL_ERROR "TAPEFORMER_KERNELS must be all or native, got \"${TAPEFORMER_KERNELS}\"")
endif()
if(TAPEFORMER_KERNELS STREQUAL "native" AND NOT BUILD_SHARED_LIBS)
  message(FATAL_ERROR "TAPEFORMER_KERNELS=native needs BUILD_SHARED_LIBS")
endif()
set(vector_levels portable)
set(bf16_levels)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(vector_levels v2 v3 v4)
  set(bf16_levels bf16 amx)
  if(TAPEFORMER_KERNELS STREQUAL "native")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -dM -E -x c++ /dev/null OUTPUT_VARIABLE has COMMAND_ERROR_IS_FATAL ANY)
    set(vector_levels v2)
    set(bf16_levels)
    if(has MATCHES "__AVX2__" AND has MATCHES "__BMI__" AND has MATCHES "__BMI2__" AND has MATCHES "__FMA__" AND has MATCHES "__MOVBE__"
       AND has MATCHES "__F16C__" AND has MATCHES "__LZCNT__")
      set(vector_levels v3)
      if(has MATCHES "__AVX512F__" AND has MATCHES "__AVX512BW__" AND has MATCHES "__AVX512CD__" AND has MATCHES "__AVX512DQ__"
         AND has MATCHES "__AVX512VL__")
        set(vector_levels v4)
        if(has MATCHES "__AVX512BF16__")
          set(bf16_levels bf16)
          if(has MATCHES "__AMX_BF16__")
            list(APPEND bf16_levels amx)
          endif()
        endif()
      endif()
    endif()
  endif()
endif()
if(NOT BUILD_SHARED_LIBS)
  target_compile_definitions(tapeformer_options INTERFACE TAPE_ALL_KERNELS)
endif()
set(kernel_levels ${vector_levels} ${bf16_levels})
foreach(level IN LISTS vector_levels)
  tapeformer_kernel_library(tapeformer_kernels_${level} ${level} "${vector_kernel_sources}")
  target_precompile_headers(tapeformer_kernels_${level} PRIVATE <algorithm> <cstdint> <string> autograd/kernels/vector/vec_math.h)
  # Loops must vectorize: errno and floating-point traps are not used, but NaN and infinity keep their meaning.
  # With generic x86-64 tuning, g++ 14 avoids fused multiply-adds in a loop with a single sum, so that the same values would
  # get different bits than in a loop with several sums.
  target_compile_options(tapeformer_kernels_${level} PRIVATE -O3 -fno-math-errno -fno-trapping-math
    $<$<CXX_COMPILER_ID:GNU>:--param=avoid-fma-max-bits=0>)
  if(NOT level STREQUAL portable)
    target_compile_options(tapeformer_kernels_${level} PRIVATE -march=x86-64-${level})
  else()  # for aarch64, g++ 14 crashes when it combines calls of exp for single lanes into one of glibc's vector functions
    target_compile_options(tapeformer_kernels_${level} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-tree-slp-vectorize>)
  endif()
  # TARGET_OBJECTS also contains the precompiled header.
  list(APPEND kernel_objects $<FILTER:$<TARGET_OBJECTS:tapeformer_kernels_${level}>,INCLUDE,[.]o$>)
endforeach()

if("bf16" IN_LIST kernel_levels)  # for CPUs with AVX512-BF16 on top of v4
  tapeformer_kernel_library(tapeformer_kernels_bf16 bf16 "${bf16_kernel_sources}")
  target_compile_options(tapeformer_kernels_bf16 PRIVATE -O3 -march=x86-64-v4 -mavx512bf16)
  list(APPEND kernel_objects $<TARGET_OBJECTS:tapeformer_kernels_bf16>)
endif()
if("amx" IN_LIST kernel_levels)  # for CPUs with matrix tiles on top of that
  tapeformer_kernel_library(tapeformer_kernels_amx amx "${amx_kernel_sources}")
  target_compile_options(tapeformer_kernels_amx PRIVATE -O3 -fno-math-errno -fno-trapping-math -march=x86-64-v4 -mavx512bf16 -mamx-tile -mamx-bf16)
  list(APPEND kernel_objects $<TARGET_OBJECTS:tapeformer_kernels_amx>)
endif()

if(TAPEFORMER_TESTS AND CMAKE_NM)
  foreach(level IN LISTS kernel_levels)
    add_test(NAME autograd.kernels.symbols_${level}
      COMMAND ${CMAKE_COMMAND} -DNM=${CMAKE_NM} -P ${PROJECT_SOURCE_DIR}/tests/autograd/kernels/check_symbols.cmake
              $<FILTER:$<TARGET_OBJECTS:tapeformer_kernels_${level}>,INCLUDE,[.]o$>
      COMMAND_EXPAND_LISTS)
  endforeach()
endif()
