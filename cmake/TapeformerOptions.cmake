# Compile options of all targets of the project.
add_library(tapeformer_options INTERFACE)
target_compile_features(tapeformer_options INTERFACE cxx_std_20)
target_compile_options(tapeformer_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(TAPEFORMER_WERROR)
  target_compile_options(tapeformer_options INTERFACE -Werror)
  # g++ 12 falsely reports overlaps and bounds errors inside libstdc++'s strings, sometimes depending on the length of a path
  # (GCC bugs 105329, 105651, fixed in 13). These remain warnings.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(tapeformer_options INTERFACE
      -Wno-error=array-bounds -Wno-error=restrict -Wno-error=stringop-overflow -Wno-error=stringop-overread)
  endif()
  # clang 19 reports that stable_sort of libstdc++ 12 calls a deprecated function (fixed in 13).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
    target_compile_options(tapeformer_options INTERFACE -Wno-error=deprecated-declarations)
  endif()
endif()
if(TAPEFORMER_SANITIZE)
  target_compile_options(tapeformer_options INTERFACE
    -fsanitize=${TAPEFORMER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # g++ then falsely reports parts of std::regex as uninitialized (GCC bug 105562).
  target_compile_options(tapeformer_options INTERFACE -Wno-error=maybe-uninitialized)
  target_link_options(tapeformer_options INTERFACE -fsanitize=${TAPEFORMER_SANITIZE})
endif()

# By default g++ collects garbage at 128 MB, and often in a source that takes 700 MB. A limit of 512 MB costs a fifth more
# memory and saves an eighth of the time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tapeformer_options INTERFACE "SHELL:--param ggc-min-heapsize=524288")
endif()

include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=mold TAPEFORMER_HAS_MOLD)
if(TAPEFORMER_HAS_MOLD)
  target_link_options(tapeformer_options INTERFACE -fuse-ld=mold)
endif()

find_program(TAPEFORMER_CCACHE ccache)
if(TAPEFORMER_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache reuses objects made with a precompiled header only if told that this is safe. Its depend mode compares whole
  # headers. If comments were ignored, ccache could reuse a precompiled header whose headers g++ then reads again, because
  # `#pragma once` compares whole files. The namespace separates the cache from entries of other modes.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_NAMESPACE=tapeformer
      ${TAPEFORMER_CCACHE}
  )
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tapeformer_options INTERFACE -fpch-preprocess)
  endif()
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Only the kernels are performance-critical, and they have their own flags. Everything else is as fast at -O2 and builds
# faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# The installed command finds the library relative to itself.
list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
