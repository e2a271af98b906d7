# CUDA: kernels for GPUs, which need nvcc, and for the emulated device, which need only the C++ compiler. The package
# contains this file too, so that tapeformer_cuda_kernels() is the same for users.
set(TAPEFORMER_CUDA AUTO CACHE STRING "Compile CUDA kernels: AUTO (where there is an NVIDIA driver and nvcc), ON or OFF")
set_property(CACHE TAPEFORMER_CUDA PROPERTY STRINGS AUTO ON OFF)

# Sets TAPEFORMER_NVCC to nvcc if kernels are to be compiled for GPUs, "" if not.
function(tapeformer_find_nvcc)
  set(TAPEFORMER_NVCC "" PARENT_SCOPE)
  if(NOT TAPEFORMER_CUDA MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "TAPEFORMER_CUDA must be AUTO, ON or OFF, got \"${TAPEFORMER_CUDA}\"")
  endif()
  if(TAPEFORMER_CUDA STREQUAL "OFF")
    return()
  endif()
  find_program(TAPEFORMER_NVCC_PROGRAM nvcc PATHS /usr/local/cuda/bin ENV CUDA_HOME ENV CUDA_PATH PATH_SUFFIXES bin)
  if(TAPEFORMER_CUDA STREQUAL "AUTO")
    find_file(TAPEFORMER_CUDA_DRIVER libcuda.so.1 PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} /usr/lib64 /usr/lib/wsl/lib
      PATH_SUFFIXES nvidia nvidia/current)
    if(NOT TAPEFORMER_CUDA_DRIVER OR NOT TAPEFORMER_NVCC_PROGRAM)
      return()
    endif()
  elseif(NOT TAPEFORMER_NVCC_PROGRAM)
    message(FATAL_ERROR "TAPEFORMER_CUDA=ON needs nvcc of CUDA 12 or newer. Without a CUDA toolkit: "
      "pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cuda-cccl nvidia-nvvm nvidia-cuda-crt, "
      "then configure with -D TAPEFORMER_NVCC_PROGRAM=SITE_PACKAGES/nvidia/cu13/bin/nvcc")
  endif()
  execute_process(COMMAND ${TAPEFORMER_NVCC_PROGRAM} --version OUTPUT_VARIABLE text RESULT_VARIABLE status)
  if(NOT status EQUAL 0 OR NOT text MATCHES "release ([0-9]+)[.]([0-9]+)" OR CMAKE_MATCH_1 LESS 12)
    message(FATAL_ERROR "${TAPEFORMER_NVCC_PROGRAM} is not nvcc of CUDA 12 or newer:\n${text}")
  endif()
  math(EXPR toolkit "1000 * ${CMAKE_MATCH_1} + 10 * ${CMAKE_MATCH_2}")
  set(TAPEFORMER_NVCC ${TAPEFORMER_NVCC_PROGRAM} PARENT_SCOPE)
  set(TAPEFORMER_NVCC_TOOLKIT ${toolkit} PARENT_SCOPE)
endfunction()

# tapeformer_cuda_kernels(target source.cu... [EMULATION emulated_target]): compiles kernels (<tapeformer/autograd/cuda/
# kernels/device.h>). For GPUs, if nvcc is used (TAPEFORMER_CUDA), they become part of `target`. For the emulated device, they
# become part of `emulated_target`, which must link Tapeformer::cuda_emulation; without EMULATION, they are not compiled for it.
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

# One fatbin per source, with code for sm_80 and sm_90 and PTX for later GPUs, and a source that embeds and registers them.
function(tapeformer_gpu_kernels target)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_cuda)
  file(MAKE_DIRECTORY ${folder})
  set(fatbins)
  set(text "#include \"${TAPEFORMER_CUDA_INCLUDE}/module.h\"\n")
  foreach(source IN LISTS ARGN)
    cmake_path(GET source STEM name)
    set(fatbin ${folder}/${name}.fatbin)
    add_custom_command(OUTPUT ${fatbin}
      COMMAND ${TAPEFORMER_NVCC} -fatbin -std=c++17 -O3 -lineinfo --expt-relaxed-constexpr
        -gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=[sm_90,compute_90]
        -I ${TAPEFORMER_CUDA_ROOT} -MD -MF ${fatbin}.d -MT ${fatbin} -o ${fatbin} ${source}
      DEPENDS ${source} DEPFILE ${fatbin}.d COMMENT "Compiling CUDA kernels ${name}" VERBATIM)
    list(APPEND fatbins ${fatbin})
    string(MAKE_C_IDENTIFIER "tape_fatbin_${target}_${name}" symbol)
    string(APPEND text "asm(\".section .rodata\\n.balign 64\\n${symbol}:\\n.incbin \\\"${fatbin}\\\"\\n.previous\\n\");\n"
      "extern \"C\" const char ${symbol}[] __attribute__((visibility(\"hidden\")));\n"
      "static const tape::cuda_device::Module module_${symbol}(${symbol}, ${TAPEFORMER_NVCC_TOOLKIT});\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/modules.cpp CONTENT "${text}" @ONLY)
  set_source_files_properties(${folder}/modules.cpp PROPERTIES OBJECT_DEPENDS "${fatbins}" SKIP_UNITY_BUILD_INCLUSION ON
    SKIP_PRECOMPILE_HEADERS ON)
  target_sources(${target} PRIVATE ${folder}/modules.cpp)
endfunction()

# The instrumentation of -fsanitize=thread reports each access to memory to the emulated device; the sanitizer itself is not
# linked. A program that does link it would get those reports, so its kernels are not instrumented.
function(tapeformer_emulated_kernels target)
  add_library(${target}_kernels OBJECT ${ARGN})
  set_source_files_properties(${ARGN} PROPERTIES LANGUAGE CXX)
  set_target_properties(${target}_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
  target_compile_features(${target}_kernels PRIVATE cxx_std_20)
  target_include_directories(${target}_kernels PRIVATE ${TAPEFORMER_CUDA_ROOT})
  # Vectorization and threads' copies of inlined code make lines of reports less exact, and -O1 is nearly as fast.
  target_compile_options(${target}_kernels PRIVATE -O1 -g1)
  if(NOT TAPEFORMER_SANITIZE MATCHES "thread")
    target_compile_options(${target}_kernels PRIVATE -fsanitize=thread
      $<$<CXX_COMPILER_ID:GNU>:-fsanitize=bounds,alignment,integer-divide-by-zero>)
  endif()
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_kernels>)
endfunction()
