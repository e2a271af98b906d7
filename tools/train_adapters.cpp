#include "tools/train_adapters.h"

namespace tape::tools {

void add_adapter_options(Command& command, AdapterArguments& arguments, const Option& init) {
  nn::LoraOptions& lora = arguments.adapters.lora;
  const Option rank =
      command.option("--lora-rank", arguments.rank, "Train adapters of this rank in place of the model (LoRA)")
          .at_least(1)
          .needs(init);
  command.option("--lora-alpha", arguments.alpha, "Their change is scaled by alpha / rank")
      .above(0)
      .needs(rank)
      .default_text("2 x rank");
  command.option("--lora-dropout", lora.dropout, "Of their input").probability().needs(rank);
  command
      .option("--lora-targets", arguments.adapters.targets,
              "Linear layers that have one: ends of their names, or PATTERNs")
      .needs(rank)
      .default_text("query value");
  command.flag("--rslora", lora.rank_stabilized, "Scale by alpha / sqrt(rank)").needs(rank);
  command.flag("--dora", lora.decomposed, "Train the magnitude of each output apart (DoRA)").needs(rank);
}

std::optional<train::AdapterTraining> adapters_of(const AdapterArguments& arguments) {
  if (!arguments.rank) return std::nullopt;
  train::AdapterTraining adapters = arguments.adapters;
  adapters.lora.rank = *arguments.rank;
  adapters.lora.alpha = arguments.alpha.value_or(2 * static_cast<double>(*arguments.rank));
  return adapters;
}

}  // namespace tape::tools
