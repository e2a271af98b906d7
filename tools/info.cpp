#include "tools/commands.h"

#include <cmath>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/devices.h"
#include "autograd/kernels/product/common/bf16_backend.h"
#include "train/memory/machine.h"

namespace tape::tools {
namespace {

nlohmann::ordered_json json_of(const DeviceInfo& gpu) {
  return {{"device", to_string(gpu.device)},
          {"name", gpu.name},
          {"capability", gpu.capability},
          {"multiprocessors", gpu.multiprocessors},
          {"memory_bytes", gpu.memory_bytes}};
}

std::string line_of(const DeviceInfo& gpu) {
  return fmt::format("{:<10} {}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB\n", to_string(gpu.device),
                     gpu.name, gpu.capability / 10, gpu.capability % 10, gpu.multiprocessors,
                     std::ldexp(static_cast<double>(gpu.memory_bytes), -30));
}

/// "13.1.0", or why there is none.
std::string text_of(const CublasLt& library) {
  if (!library.missing.empty()) return library.missing;
  return fmt::format("{}.{}.{}", library.version / 10000, library.version / 100 % 100, library.version % 100);
}

int info(const Common& common) {
  prepare(common);
  const train::Machine m = train::machine();
  const Devices found = devices();
  const CublasLt products_library = cublaslt();
  nlohmann::ordered_json gpus = nlohmann::ordered_json::array();
  std::string cuda_text = found.gpus.empty()
                              ? fmt::format("cuda       {}\n", found.missing)
                              : fmt::format("driver     CUDA {}.{}\n", found.driver / 1000, found.driver % 1000 / 10);
  for (const DeviceInfo& gpu : found.gpus) gpus.push_back(json_of(gpu)), cuda_text += line_of(gpu);
  if (!found.gpus.empty()) cuda_text += fmt::format("cublaslt   {}\n", text_of(products_library));
  const std::string bf16(kernels::to_string(kernels::bf16_backend()));
  nlohmann::ordered_json precisions;
  std::string text;
  for (const MatmulPrecision asked : {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    const std::string products = kernels::products_in_use(asked);
    precisions[to_string(asked)] = products;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_string(asked), products);
  }
  if (common.json) {
    std::cout << nlohmann::ordered_json{{"version", m.version},
                                        {"cpu", m.cpu},
                                        {"isa", m.kernels},
                                        {"bf16", bf16},
                                        {"precision", precisions},
                                        {"blas", m.blas},
                                        {"blas_core", m.blas_core},
                                        {"blas_core_overridden", m.blas_core_overridden},
                                        {"threads", m.threads},
                                        {"cuda_driver", found.driver},
                                        {"cuda_devices", gpus},
                                        {"cuda_missing", found.missing},
                                        {"cublaslt", products_library.version},
                                        {"cublaslt_missing", products_library.missing}}
                     .dump()
              << "\n";
  } else {
    std::cout << "version    " << m.version << "\ncpu        " << m.cpu << "\nkernels    " << m.kernels
              << "\nbf16       " << bf16 << "\nprecision  " << text << "\nblas       " << m.blas << "\nblas core  "
              << m.blas_core << (m.blas_core_overridden ? " (by OPENBLAS_CORETYPE)" : "") << "\nthreads    "
              << m.threads << "\n"
              << cuda_text;
  }
  return 0;
}

}  // namespace

void add_info(Command app) {
  const auto common = std::make_shared<Common>();
  Command command = app.subcommand("info", "Print version, CPU, kernels and matrix library in use, threads, GPUs");
  command.footer("Example: tapeformer info --json");
  add_threads(command, *common);
  add_json(command, *common);
  command.runs([common] { return info(*common); });
}

}  // namespace tape::tools
