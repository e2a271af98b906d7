#include "tools/common.h"

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

void add_dtype(Command& command, Common& common) {
  command.option("--dtype", common.dtype, "bf16: products of operands rounded to bf16, all else in f32")
      .one_of({"f32", "bf16"});
}

void prepare(const Common& common) {
  if (common.threads > 0) train::set_threads(common.threads);
}

}  // namespace tape::tools
