# Compiles for WebAssembly with the clang in PyPI's package ziglang, which scripts/wasm.sh unpacks in
# TAPEFORMER_WASM_DEPS/ziglang.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TAPEFORMER_WASM_DEPS)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(zig ${TAPEFORMER_WASM_DEPS}/ziglang/zig)
set(CMAKE_C_COMPILER ${zig} clang)
set(CMAKE_CXX_COMPILER ${zig} clang)
set(CMAKE_C_COMPILER_TARGET wasm32-wasip1)
set(CMAKE_CXX_COMPILER_TARGET wasm32-wasip1)
# Lets the linker and the archiver be subcommands too.
foreach(language C CXX)
  set(CMAKE_${language}_CREATE_STATIC_LIBRARY "<CMAKE_COMMAND> -E rm -f <TARGET>" "${zig} ar qc <TARGET> <OBJECTS>")
endforeach()
# Compiles the C library of WASI itself, and links.
set(CMAKE_CXX_LINK_EXECUTABLE
  "${zig} c++ -target wasm32-wasi -mexec-model=reactor -nostdlib++ <LINK_FLAGS> <OBJECTS> <LINK_LIBRARIES> -o <TARGET>")
