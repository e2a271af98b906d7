#include "tools/commands.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/kernels/product/common/bf16_backend.h"
#include "train/memory/machine.h"

namespace tape::tools {
namespace {

int info(const Common& common) {
  prepare(common);
  const train::Machine m = train::machine();
  const std::string bf16(kernels::to_string(kernels::bf16_backend()));
  nlohmann::ordered_json precisions;
  std::string text;
  for (const MatmulPrecision asked : {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium}) {
    const std::string products = kernels::products_in_use(asked);
    precisions[to_string(asked)] = products;
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", to_string(asked), products);
  }
  if (common.json) {
    std::cout << nlohmann::ordered_json{{"version", m.version},     {"cpu", m.cpu},
                                        {"isa", m.kernels},         {"bf16", bf16},
                                        {"precision", precisions},  {"blas", m.blas},
                                        {"blas_core", m.blas_core}, {"blas_core_overridden", m.blas_core_overridden},
                                        {"threads", m.threads}}
                     .dump()
              << "\n";
  } else {
    std::cout << "version    " << m.version << "\ncpu        " << m.cpu << "\nkernels    " << m.kernels
              << "\nbf16       " << bf16 << "\nprecision  " << text << "\nblas       " << m.blas << "\nblas core  "
              << m.blas_core << (m.blas_core_overridden ? " (by OPENBLAS_CORETYPE)" : "") << "\nthreads    "
              << m.threads << "\n";
  }
  return 0;
}

}  // namespace

void add_info(Command app) {
  const auto common = std::make_shared<Common>();
  Command command = app.subcommand("info", "Print version, CPU, kernels and matrix library in use, threads");
  command.footer("Example: tapeformer info --json");
  add_threads(command, *common);
  add_json(command, *common);
  command.runs([common] { return info(*common); });
}

}  // namespace tape::tools
