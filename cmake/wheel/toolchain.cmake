# Compiles for systems with glibc 2.27 or later: g++ 12 of Debian 12 with the C library's headers and stubs of Ubuntu 18.04, which
# scripts/wheel.sh unpacks in TAPEFORMER_SYSROOT, and a static libstdc++. The C++ headers are Debian's.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TAPEFORMER_SYSROOT TAPEFORMER_WHEEL_PREFIX)
set(CMAKE_C_COMPILER gcc-12)
set(CMAKE_CXX_COMPILER g++-12)
set(CMAKE_SYSROOT ${TAPEFORMER_SYSROOT})
# Its folder c++ has the settings of libstdc++ for this C library.
set(CMAKE_CXX_FLAGS_INIT "-isystem ${TAPEFORMER_SYSROOT}/c++")
set(runtime "-L${TAPEFORMER_SYSROOT}/usr/lib/x86_64-linux-gnu -static-libstdc++ -Wl,-u,__cxa_pure_virtual ${TAPEFORMER_SYSROOT}/old_glibc.o -Wl,--push-state,--no-as-needed -lpthread -Wl,--pop-state")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "${runtime}")
endforeach()
set(CMAKE_FIND_ROOT_PATH ${TAPEFORMER_WHEEL_PREFIX} ${TAPEFORMER_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
