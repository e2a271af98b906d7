# CUDA kernels: for GPUs, which needs nvcc, and for the emulated device, which needs only the C++ compiler. The package contains
# this file too, so that tapeformer_cuda_kernels() is the same for users.
set(TAPEFORMER_CUDA AUTO CACHE STRING "Compile CUDA kernels: AUTO (where there are an NVIDIA driver and nvcc), ON or OFF")
set_property(CACHE TAPEFORMER_CUDA PROPERTY STRINGS AUTO ON OFF)

# Sets TAPEFORMER_NVCC to the nvcc that compiles kernels for GPUs and TAPEFORMER_NVCC_TOOLKIT to its version; to "" if none
# does.
function(tapeformer_find_nvcc)
  set(TAPEFORMER_NVCC "" PARENT_SCOPE)
  if(NOT TAPEFORMER_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "TAPEFORMER_CUDA must be AUTO, ON or OFF, got \"${TAPEFORMER_CUDA}\"")
  endif()
  if(TAPEFORMER_CUDA STREQUAL "OFF")
    return()
  endif()
  find_program(TAPEFORMER_NVCC_PROGRAM nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
  if(TAPEFORMER_CUDA STREQUAL "AUTO")
    # Compiling kernels takes longer than everything else, so not where they cannot run.
    find_library(TAPEFORMER_CUDA_DRIVER libcuda.so.1 PATHS /usr/lib/wsl/lib PATH_SUFFIXES nvidia nvidia/current)
    if(NOT TAPEFORMER_CUDA_DRIVER OR NOT TAPEFORMER_NVCC_PROGRAM)
      return()
    endif()
  elseif(NOT TAPEFORMER_NVCC_PROGRAM)
    message(FATAL_ERROR "TAPEFORMER_CUDA=ON needs nvcc of CUDA 12 or newer: install a CUDA toolkit, or "
      "`pip install nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cccl` and configure with "
      "-D TAPEFORMER_NVCC_PROGRAM=SITE_PACKAGES/nvidia/cu13/bin/nvcc")
  endif()
  execute_process(COMMAND ${TAPEFORMER_NVCC_PROGRAM} --version OUTPUT_VARIABLE text ERROR_VARIABLE text RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT text MATCHES "release ([0-9]+)[.]([0-9]+)" OR CMAKE_MATCH_1 LESS 12)
    message(FATAL_ERROR "${TAPEFORMER_NVCC_PROGRAM} is not nvcc of CUDA 12 or newer:\n${text}")
  endif()
  math(EXPR toolkit "1000 * ${CMAKE_MATCH_1} + 10 * ${CMAKE_MATCH_2}")
  set(TAPEFORMER_NVCC ${TAPEFORMER_NVCC_PROGRAM} PARENT_SCOPE)
  set(TAPEFORMER_NVCC_TOOLKIT ${toolkit} PARENT_SCOPE)
endfunction()

# tapeformer_cuda_kernels(target source.cu... [EMULATION emulated_target])
#
# Compiles kernels, which include <tapeformer/autograd/cuda/kernels/device.h>. For GPUs, if TAPEFORMER_CUDA has nvcc used, they
# become part of `target`, which must link Tapeformer::core. For the emulated device they become part of
# `emulated_target`, which must link Tapeformer::cuda_emulation; without EMULATION they are not compiled for it. Both may be the
# same target.
function(tapeformer_cuda_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EMULATION" "")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/" REGEX "^[^/]")
  tapeformer_find_nvcc()
  if(TAPEFORMER_NVCC)
    tapeformer_gpu_kernels(${target} ${sources})
  endif()
  if(arg_EMULATION)
    tapeformer_emulated_kernels(${arg_EMULATION} ${sources})
  endif()
endfunction()

# A linker takes an object of a static library only if something refers to it, which nothing does if it only registers itself.
function(tapeformer_always_link target symbol)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    target_link_options(${target} INTERFACE LINKER:--undefined=${symbol})
  endif()
endfunction()

# One fatbin per source, with code for sm_80 and sm_90 and PTX for later GPUs, and a source that embeds and registers them.
function(tapeformer_gpu_kernels target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_cuda)
  file(MAKE_DIRECTORY ${folder})
  # Not the system's own folder, which nvcc must not search before its own.
  set(includes "$<FILTER:$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>>,EXCLUDE,^/usr/include$>")
  set(fatbins)
  string(CONCAT text "#if __has_include(\"tapeformer/autograd/cuda/module.h\")\n#include \"tapeformer/autograd/cuda/module.h\"\n"
    "#else\n#include \"autograd/cuda/module.h\"\n#endif\n")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM name)
    set(fatbin ${folder}/${name}.fatbin)
    add_custom_command(OUTPUT ${fatbin}
      COMMAND ${TAPEFORMER_NVCC} -fatbin -std=c++20 -O3 -lineinfo --expt-relaxed-constexpr
        -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=[sm_90,compute_90]
        "-I$<JOIN:${includes},;-I>"
        -MD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin} ${source}
      DEPENDS ${source} DEPFILE ${fatbin}.d COMMENT "Compiling CUDA kernels ${name}" VERBATIM COMMAND_EXPAND_LISTS)
    list(APPEND fatbins ${fatbin})
    string(MAKE_C_IDENTIFIER "tape_fatbin_${target}_${name}" symbol)
    string(APPEND text "asm(\".pushsection .rodata\\n.balign 64\\n.globl ${symbol}\\n.hidden ${symbol}\\n${symbol}:\\n"
      ".incbin \\\"${fatbin}\\\"\\n.popsection\\n\");\n"
      "extern \"C\" const char ${symbol}[];\n"
      "static const tape::cuda_device::Module module_${symbol}(${symbol}, ${TAPEFORMER_NVCC_TOOLKIT});\n")
    tapeformer_always_link(${target} ${symbol})
  endforeach()
  string(REPLACE ";" "$<SEMICOLON>" text "${text}")
  file(GENERATE OUTPUT ${folder}/modules.cpp CONTENT "${text}")
  set_source_files_properties(${folder}/modules.cpp PROPERTIES OBJECT_DEPENDS "${fatbins}" SKIP_UNITY_BUILD_INCLUSION ON
    SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${folder}/modules.cpp)
endfunction()

# The instrumentation of these sanitizers calls functions for each access to memory, which are the emulated device's; the
# sanitizers themselves are not linked. Clash protection lets large local variables reach the page that ends a stack. With g++ the functions have other names than the sanitizers', with clang a program can
# have only one of the two.
function(tapeformer_emulated_kernels target)
  set(objects ${target}_kernels)
  add_library(${objects} OBJECT ${ARGN})
  set_target_properties(${objects} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_compile_features(${objects} PRIVATE cxx_std_20)
  target_include_directories(${objects} PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
  target_compile_options(${objects} PRIVATE -O1 -g1 -fstack-clash-protection)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT "${TAPEFORMER_SANITIZE}" MATCHES "thread")
    target_compile_options(${objects} PRIVATE -fsanitize=thread)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT "${TAPEFORMER_SANITIZE}" MATCHES "undefined")
    target_compile_options(${objects} PRIVATE -fsanitize=bounds,alignment,integer-divide-by-zero)
  endif()
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM name)
    string(MAKE_C_IDENTIFIER "tape_kernels_${target}_${name}" symbol)
    set_source_files_properties(${source} PROPERTIES LANGUAGE CXX COMPILE_DEFINITIONS TAPE_KERNELS_SYMBOL=${symbol})
    tapeformer_always_link(${target} ${symbol})
  endforeach()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${objects}>)
endfunction()
