#include "tools/common.h"

#include <algorithm>

#include "train/machine.h"

namespace tape::tools {

void add_threads(Command& command, Common& common) {
  command.option("--threads", common.threads, "Threads for kernels and matrix products")
      .at_least(1)
      .default_text("all cores");
}

void add_json(Command& command, Common& common) {
  command.flag("--json", common.json, "End with the figures as one JSON line");
}

void add_precision(Command& command, Common& common) {
  command
      .option("--precision", common.precision,
              "Of matrix products, at least: highest (f32), high (16 bits), medium (bf16)")
      .one_of({"highest", "high", "medium"});
}

MatmulPrecision Common::matmul_precision() const {
  return precision == "medium" ? MatmulPrecision::medium
         : precision == "high" ? MatmulPrecision::high
                               : MatmulPrecision::highest;
}

void prepare(const Common& common, int sharing) {
  if (common.threads > 0)
    train::set_threads(common.threads);
  else if (sharing > 1)
    train::set_threads(std::max(train::machine().threads / sharing, 1));
}

}  // namespace tape::tools
