#pragma once

#include <dlfcn.h>

#include <string>

namespace tape::cuda_device {

/// Loads functions from a library and remembers the first one that it lacks.
class FunctionLoader {
 public:
  explicit FunctionLoader(void* library) : library_(library) {}

  template <class Function>
  void load(Function& function, const char* name) {
    load_optional(function, name);
    if (!function && missing_.empty()) missing_ = name;
  }
  template <class Function>
  void load_optional(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

}  // namespace tape::cuda_device
