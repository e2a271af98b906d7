#include "train/init/adapter_training.h"
#include "train/init/init_settings.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/folders/weights.h"
#include "train/runs/settings.h"

namespace tape::train {
namespace {

constexpr const char* kName = "default";

}  // namespace

nlohmann::ordered_json to_json(const AdapterTraining& adapters, const std::string& base) {
  const nn::LoraOptions& lora = adapters.lora;
  return {{"below", files_setting(models::weight_files(base))},
          {"targets", adapters.targets},
          {"rank", lora.rank},
          {"alpha", lora.alpha},
          {"lora_dropout", lora.dropout},
          {"rslora", lora.rank_stabilized},
          {"dora", lora.decomposed}};
}

void begin_adapters(const models::AdapterPart& part, const AdapterTraining& adapters,
                    const std::vector<std::string>& whole) {
  std::vector<std::string> except = whole;
  except.emplace_back("head");
  models::add_adapter(part.module, part.layout, kName, adapters.lora, adapters.targets, except);
  nn::train_adapters_only(part.module);
  for (auto& [path, module] : part.module.named_modules())
    if (std::ranges::find(whole, path) != whole.end()) module->unfreeze();
}

void save_adapters(const std::string& folder, const models::AdapterPart& part, const std::string& base) {
  std::error_code unused;
  models::AdapterMetadata note = part.note;
  note.base_model = std::filesystem::absolute(base, unused).lexically_normal().string();
  models::save_adapter(folder, part.module, part.layout, kName, note);
}

nn::StateDict with_adapters(nn::StateDict values, const std::string& folder, const models::AdapterPart& part) {
  for (auto& [name, value] : models::adapter_values(folder, part.layout, kName))
    values.insert_or_assign(part.prefix + name, value);
  return values;
}

}  // namespace tape::train
