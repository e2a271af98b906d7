#pragma once

#include <optional>

#include "tools/common.h"
#include "train/init/adapter_training.h"

namespace tape::tools {

/// Adapters as the commands that train them are told of them.
struct AdapterArguments {
  train::AdapterTraining adapters;
  std::optional<int64_t> rank;
  std::optional<double> alpha;
};

/// --lora-rank, which asks for them, and what they are like; all need `init`.
void add_adapter_options(Command& command, AdapterArguments& arguments, const Option& init);

/// None without --lora-rank.
std::optional<train::AdapterTraining> adapters_of(const AdapterArguments& arguments);

}  // namespace tape::tools
