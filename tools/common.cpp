#include "tools/common.h"

#include <algorithm>

#include "autograd/devices.h"
#include "train/distributed/world.h"
#include "train/memory/machine.h"

namespace tape::tools {

void add_threads(Command& command, Common& common) {
  command.option("--threads", common.threads, "Threads for kernels and matrix products")
      .at_least(1)
      .default_text("all cores");
}

void add_overwrite(Command& command, bool& overwrite) {
  command.flag("--overwrite", overwrite, "Replace an existing model, tokenizer or run in --out");
}

void add_json(Command& command, Common& common) {
  command.flag("--json", common.json, "Print the results as one JSON line at the end");
}

void add_precision(Command& command, Common& common) {
  command
      .option(
          "--precision", common.precision,
          "Lowest precision of matrix products: highest (f32), high (16 bits), medium (bf16; on a GPU activations too)")
      .one_of({"highest", "high", "medium"});
}

void add_device(Command& command, Common& common) {
  command.option("--device", common.device, "Where to compute: cpu, cuda (an NVIDIA GPU) or cuda:1").device();
}

void add_optimizer_state(Command& command, std::optional<optim::MomentDtype>& moments) {
  command
      .choice("--optimizer-state", moments,
              {{"f32", optim::MomentDtype::parameter_dtype}, {"bf16", optim::MomentDtype::bf16}},
              "Dtype of Adam's state; bf16 halves its memory")
      .default_text("f32");
}

void add_distributed(Command& command, DistributedArguments& together) {
  if (!train::has_mpi()) return;
  using enum train::Sharding;
  command
      .choice("--zero", together.zero, {{"0", none}, {"1", optimizer}, {"2", gradients}, {"3", parameters}},
              "Under mpirun, what is sharded across processes: nothing (0), Adam's state (1), also gradients (2), also "
              "layer parameters (3)")
      .default_text("0");
  command.flag("--bf16-gradients", together.bf16, "Under mpirun, send gradients rounded to bf16");
}

train::DistributedOptions DistributedArguments::options() const {
  return {.bf16 = bf16, .sharding = zero.value_or(train::Sharding::none)};
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

DeviceScope use_device(const Common& common, int rank) {
  Device device = parse_device(common.device);
  if (common.device == "cuda" && rank > 0)
    if (const auto gpus = devices().gpus; !gpus.empty()) device = gpus[static_cast<size_t>(rank) % gpus.size()].device;
  describe(device);  // an Error before anything is loaded
  return DeviceScope(device);
}

}  // namespace tape::tools
