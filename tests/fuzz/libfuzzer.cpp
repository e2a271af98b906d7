// libFuzzer entry point for the target named in the environment: TAPEFORMER_FUZZ_TARGET=safetensors.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/fuzz/target.h"

namespace {

const tape::fuzz::Target& chosen() {
  static const tape::fuzz::Target& target = [&]() -> const tape::fuzz::Target& {
    const char* name = std::getenv("TAPEFORMER_FUZZ_TARGET");
    return tape::fuzz::target(name ? name : "");
  }();
  return target;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    chosen().run({reinterpret_cast<const std::byte*>(data), size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  return 0;
}
