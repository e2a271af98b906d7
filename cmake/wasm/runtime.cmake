# The C++ standard library with exceptions: zig's own build of it has none.
set(lib ${TAPEFORMER_WASM_DEPS}/ziglang/lib)
file(GLOB runtime_sources ${lib}/libcxx/src/*.cpp ${lib}/libcxx/src/filesystem/*.cpp ${lib}/libcxx/src/ryu/*.cpp
  ${lib}/libcxxabi/src/*.cpp)
list(FILTER runtime_sources EXCLUDE REGEX
  "/(print|int128_builtins|strstream|regex|future|barrier|experimental|random_shuffle|tzdb|cxa_noexception|cxa_thread_atexit)[.]cpp$")

set(c_headers -nostdinc)
foreach(folder include libc/include/wasm-wasi-musl libc/include/generic-musl libc/include/wasm32-wasi-any libc/include/any-wasi-any)
  list(APPEND c_headers "SHELL:-isystem ${lib}/${folder}")
endforeach()
set(cxx_headers -nostdinc "SHELL:-isystem ${lib}/libcxx/include" "SHELL:-isystem ${lib}/libcxxabi/include" ${c_headers})
# What zig defines when it builds its libc++.
set(cxx_settings _LIBCPP_ABI_VERSION=1 _LIBCPP_ABI_NAMESPACE=__1 _LIBCPP_HAS_THREADS=1 _LIBCPP_HAS_THREAD_API_PTHREAD=1
  _LIBCPP_HAS_THREAD_API_EXTERNAL=0 _LIBCPP_HAS_THREAD_API_WIN32=0 _LIBCPP_HAS_MONOTONIC_CLOCK=1 _LIBCPP_HAS_TERMINAL=1
  _LIBCPP_HAS_MUSL_LIBC=1 _LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS _LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS
  _LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0 _LIBCPP_HAS_FILESYSTEM=1 _LIBCPP_HAS_RANDOM_DEVICE=1
  _LIBCPP_HAS_LOCALIZATION=1 _LIBCPP_HAS_UNICODE=1 _LIBCPP_HAS_WIDE_CHARACTERS=1 _LIBCPP_HAS_TIME_ZONE_DATABASE=0
  _LIBCPP_HAS_NO_STD_MODULES _LIBCPP_PSTL_BACKEND_SERIAL _LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE
  _LIBCPP_HARDENING_MODE_DEFAULT=_LIBCPP_HARDENING_MODE_NONE
  _LIBCPP_ASSERTION_SEMANTIC_DEFAULT=_LIBCPP_ASSERTION_SEMANTIC_IGNORE)
set(cxx_exceptions -fwasm-exceptions)

add_library(runtime STATIC ${runtime_sources} ${lib}/libunwind/src/Unwind-wasm.c ${CMAKE_CURRENT_LIST_DIR}/runtime.c)
set_source_files_properties(${runtime_sources} PROPERTIES COMPILE_OPTIONS
  "-std=c++23;-Wno-user-defined-literals;-include;${CMAKE_CURRENT_LIST_DIR}/copy_file_range.h;-I${lib}/libcxx/src;-I${lib}/libcxx/src/include;-I${lib}/libcxxabi/include;-I${lib}/libcxx/libc"
  COMPILE_DEFINITIONS
  "_LIBCPP_BUILDING_LIBRARY;_LIBCXXABI_BUILDING_LIBRARY;LIBCXX_BUILDING_LIBCXXABI;HAVE___CXA_THREAD_ATEXIT_IMPL=0")
target_compile_options(runtime PRIVATE ${cxx_exceptions} $<$<COMPILE_LANGUAGE:CXX>:${cxx_headers}> $<$<COMPILE_LANGUAGE:C>:${c_headers}>)
target_compile_definitions(runtime PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${cxx_settings}> _LIBUNWIND_HIDE_SYMBOLS NDEBUG)
target_include_directories(runtime PRIVATE ${lib}/libunwind/include ${lib}/libunwind/src)
