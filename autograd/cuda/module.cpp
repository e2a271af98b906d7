#include "autograd/cuda/module.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "autograd/cuda/context.h"
#include "autograd/cuda/memory_pool.h"
#include "base/error.h"
#include "base/static_list.h"

namespace tape::cuda_device {
namespace {

StaticList<Module> registered_modules;

std::mutex& modules_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}

void* load_module(Context& c, const Module& module) {
  for (const auto& [known, handle] : c.loaded)
    if (known == &module) return handle;
  void* handle = nullptr;
  Result loaded = c.driver->module_load_data(&handle, module.image());
  if (loaded == result::out_of_memory) {
    c.memory->trim();
    loaded = c.driver->module_load_data(&handle, module.image());
  }
  constexpr std::array too_old = {result::invalid_image, result::no_binary_for_gpu, result::invalid_ptx,
                                  result::unsupported_ptx_version};
  if (std::find(too_old.begin(), too_old.end(), loaded) != too_old.end()) {
    int version = 0;
    c.driver->driver_get_version(&version);
    raise(ErrorKind::device,
          "cuda: the driver (CUDA {}.{}) cannot load kernels of CUDA {}.{} on {}, compute capability {}.{}: {}; update "
          "the driver",
          version / 1000, version % 1000 / 10, module.toolkit() / 1000, module.toolkit() % 1000 / 10, c.name,
          c.capability / 10, c.capability % 10, error_text(*c.driver, loaded));
  }
  check(loaded, "cuModuleLoadData");
  c.loaded.emplace_back(&module, handle);
  return handle;
}

}  // namespace

Module::Module(const void* image, int toolkit) : image_(image), toolkit_(toolkit) { registered_modules.add(*this); }
Module::~Module() { registered_modules.remove(*this); }

void* find_function(const char* name) {
  Context& c = context();
  void* function = nullptr;
  if (c.driver->find_function) {
    if (c.driver->find_function(&function, name))
      raise(ErrorKind::device, "cuda: the emulated device has no kernel {}: link its emulated object", name);
    return function;
  }
  const std::lock_guard lock(modules_mutex());
  const std::vector<const Module*> modules = registered_modules.all();
  if (modules.empty())
    raise(ErrorKind::device, "cuda: this build has no CUDA kernels (configure with TAPEFORMER_CUDA=ON)");
  for (const Module* module : modules) {
    const Result found = c.driver->module_get_function(&function, load_module(c, *module), name);
    if (!found) return function;
    if (found != result::not_found) check(found, "cuModuleGetFunction");
  }
  raise(ErrorKind::device, "cuda: no kernel {} in the compiled modules", name);
}

}  // namespace tape::cuda_device
