# What every target of ours is compiled with.
add_library(tapeformer_options INTERFACE)
target_compile_features(tapeformer_options INTERFACE cxx_std_20)
target_compile_options(tapeformer_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(TAPEFORMER_WERROR)
  target_compile_options(tapeformer_options INTERFACE -Werror)
  # g++ 12 sees overlaps and bounds errors inside libstdc++'s own strings, here or there with the length of a path (GCC
  # bugs 105329, 105651, mended in 13): these stay warnings.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(tapeformer_options INTERFACE
      -Wno-error=array-bounds -Wno-error=restrict -Wno-error=stringop-overflow -Wno-error=stringop-overread)
  endif()
  # clang 19 sees that libstdc++ 12's own stable_sort calls a deprecated function (mended in 13).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 19)
    target_compile_options(tapeformer_options INTERFACE -Wno-error=deprecated-declarations)
  endif()
endif()
if(TAPEFORMER_SANITIZE)
  target_compile_options(tapeformer_options INTERFACE
    -fsanitize=${TAPEFORMER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  # g++ then takes parts of std::regex for uninitialized (GCC bug 105562).
  target_compile_options(tapeformer_options INTERFACE -Wno-error=maybe-uninitialized)
  target_link_options(tapeformer_options INTERFACE -fsanitize=${TAPEFORMER_SANITIZE})
endif()

# g++ collects its garbage when 128 MB have come together, again and again in a source that takes 700: half a gigabyte at
# once costs a fifth more memory and an eighth less time.
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
  # ccache takes objects made with a precompiled header only when it is told that this is safe. Its depend mode compares
  # headers as they are: compared without comments, a precompiled header is taken whose headers g++ then reads again,
  # since `#pragma once` compares whole files. The namespace keeps what other modes left in the cache out of this one.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 CCACHE_NAMESPACE=tapeformer
      ${TAPEFORMER_CCACHE}
  )
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tapeformer_options INTERFACE -fpch-preprocess)
  endif()
endif()
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Speed lives in the kernels, which have their own flags; the rest is as fast at -O2 and builds sooner.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# The installed command finds the library beside it.
list(APPEND CMAKE_INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
