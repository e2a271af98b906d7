#include "tools/commands.h"
#include "train/machine.h"

namespace tape::tools {

void add_threads(CLI::App& command, Common& common) {
  command.add_option("--threads", common.threads, "Threads for kernels and matrix products; all cores by default")
      ->check(CLI::PositiveNumber);
}

void add_json(CLI::App& command, Common& common) {
  command.add_flag("--json", common.json, "End with the figures as one JSON line");
}

void add_dtype(CLI::App& command, Common& common) {
  command.add_option("--dtype", common.dtype, "bf16: products of operands rounded to bf16, all else in f32")
      ->check(CLI::IsMember({"f32", "bf16"}))
      ->capture_default_str();
}

void prepare(const Common& common) {
  if (common.threads > 0) train::set_threads(common.threads);
}

}  // namespace tape::tools
