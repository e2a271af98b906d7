#include "train/pretrained_decoder.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "base/module_path.h"
#include "models/adapter_folder.h"
#include "models/folder.h"
#include "models/tokenizer_fit.h"
#include "text/load_tokenizer.h"
#include "train/settings.h"
#include "train/trained_parameters.h"

namespace tape::train {
namespace {

constexpr const char* kName = "default";

}  // namespace

nlohmann::ordered_json to_json(const DecoderStart& start) {
  nlohmann::ordered_json json{{"init", file_setting(fmt::format("{}/config.json", start.folder))},
                              {"freeze", start.freeze}};
  if (!start.adapters) return json;
  const std::string whole = fmt::format("{}/model.safetensors", start.folder);
  json["below"] = file_setting(std::filesystem::exists(whole) ? whole : fmt::format("{}.index.json", whole));
  const nn::LoraOptions& lora = start.adapters->lora;
  json["targets"] = start.adapters->targets;
  json["rank"] = lora.rank;
  json["alpha"] = lora.alpha;
  json["lora_dropout"] = lora.dropout;
  json["rslora"] = lora.rank_stabilized;
  json["dora"] = lora.decomposed;
  return json;
}

PretrainedDecoder::PretrainedDecoder(const DecoderStart& start)
    : start_(start),
      model_(models::load<models::CausalLM>(start.folder)),
      tokenizer_(text::load_tokenizer(start.folder)),
      max_length_(model_->max_length()) {
  models::check_tokenizer_fits(start.folder, *tokenizer_, "vocab_size", model_->vocab());
}

std::unique_ptr<models::CausalLM> PretrainedDecoder::take_model() {
  if (start_.adapters) {
    models::add_adapter(*model_, models::layout_of(*model_), kName, start_.adapters->lora, start_.adapters->targets);
    nn::train_adapters_only(*model_);
  }
  if (!start_.freeze.empty()) freeze_parameters(*model_, start_.freeze);
  model_->train();
  return std::move(model_);
}

void PretrainedDecoder::save_adapters(const std::string& folder, models::CausalLM& model) const {
  std::error_code unused;
  const std::string base = std::filesystem::absolute(start_.folder, unused).lexically_normal().string();
  models::save_adapter(folder, model, models::layout_of(model), kName, {.base_model = base, .task = "CAUSAL_LM"});
}

nn::StateDict PretrainedDecoder::load_adapters(const std::string& folder, const models::CausalLM& model) const {
  nn::StateDict state = model.state_dict();
  for (auto& [name, value] : models::adapter_values(folder, models::layout_of(model), kName))
    state.insert_or_assign(name, value);
  return state;
}

}  // namespace tape::train
