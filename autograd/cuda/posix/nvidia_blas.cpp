#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include "autograd/cuda/blas.h"
#include "autograd/cuda/driver.h"
#include "autograd/cuda/posix/function_loader.h"

namespace tape::cuda_device {
namespace {

void load_functions(FunctionLoader& loader, Blas& blas) {
  loader.load(blas.get_version, "cublasLtGetVersion");
  loader.load(blas.get_status_name, "cublasLtGetStatusName");
  loader.load(blas.create, "cublasLtCreate");
  loader.load(blas.destroy, "cublasLtDestroy");
  loader.load(blas.matmul_create, "cublasLtMatmulDescCreate");
  loader.load(blas.matmul_destroy, "cublasLtMatmulDescDestroy");
  loader.load(blas.matmul_set, "cublasLtMatmulDescSetAttribute");
  loader.load(blas.layout_create, "cublasLtMatrixLayoutCreate");
  loader.load(blas.layout_destroy, "cublasLtMatrixLayoutDestroy");
  loader.load(blas.layout_set, "cublasLtMatrixLayoutSetAttribute");
  loader.load(blas.preference_create, "cublasLtMatmulPreferenceCreate");
  loader.load(blas.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  loader.load(blas.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  loader.load(blas.get_heuristic, "cublasLtMatmulAlgoGetHeuristic");
  loader.load(blas.algorithm_check, "cublasLtMatmulAlgoCheck");
  loader.load(blas.matmul, "cublasLtMatmul");
}

/// Folders of CUDA toolkits. "" stands for where the system looks: LD_LIBRARY_PATH and its own folders.
std::vector<std::string> folders() {
  std::vector<std::string> all = {""};
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* const folder = std::getenv(variable); folder && *folder)
      all.push_back(std::string(folder) + "/lib64/");
  all.emplace_back("/usr/local/cuda/lib64/");
  return all;
}

/// Libraries for the driver's version of CUDA, the best one first.
std::vector<const char*> libraries() {
  constexpr int kCuda13 = 13000;
  if (driver_version() < kCuda13) return {"libcublasLt.so.12"};
  return {"libcublasLt.so.13", "libcublasLt.so.12"};
}

void* open_library(std::string& looked_for) {
  for (const char* const name : libraries()) {
    for (const std::string& folder : folders())
      if (void* const library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    looked_for += (looked_for.empty() ? "" : " or ") + std::string(name);
  }
  return nullptr;
}

}  // namespace

const Blas* load_nvidia_blas(std::string& reason) {
  static std::mutex mutex;
  static Blas table{};
  static bool loaded = false;
  const std::lock_guard lock(mutex);
  if (loaded) return &table;
  std::string looked_for;
  void* const library = open_library(looked_for);
  if (!library) {
    reason = fmt::format(
        "no cuBLASLt ({} not found in LD_LIBRARY_PATH, the system's folders, CUDA_HOME/lib64 and "
        "/usr/local/cuda/lib64)",
        looked_for);
    return nullptr;
  }
  FunctionLoader loader(library);
  load_functions(loader, table);
  if (!loader.missing().empty()) {
    reason = fmt::format("cuBLASLt has no {}: update it", loader.missing());
    dlclose(library);
    return nullptr;
  }
  loaded = true;
  return &table;
}

}  // namespace tape::cuda_device
