#include "train/init/pretrained_decoder.h"
#include "train/init/init_settings.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/folders/folder.h"
#include "models/folders/tokenizer_fit.h"
#include "text/tokenizers/load_tokenizer.h"
#include "train/init/trained_parameters.h"
#include "train/runs/settings.h"

namespace tape::train {

nlohmann::ordered_json to_json(const DecoderInit& start) {
  nlohmann::ordered_json json{{"init", file_setting(fmt::format("{}/config.json", start.folder))},
                              {"freeze", start.freeze}};
  if (start.adapters) json.update(to_json(*start.adapters, start.folder));
  return json;
}

namespace {

/// Adapters of the folder would be trained but not saved.
std::unique_ptr<models::CausalLM> load_whole(const std::string& folder) {
  if (models::is_adapter_folder(folder))
    raise(ErrorKind::config,
          "{}: contains adapters, but training needs a whole model; merge them with tapeformer merge", folder);
  return models::load<models::CausalLM>(folder);
}

}  // namespace

PretrainedDecoder::PretrainedDecoder(const DecoderInit& start)
    : start_(start),
      model_(load_whole(start.folder)),
      tokenizer_(text::load_tokenizer(start.folder)),
      max_length_(model_->max_length()) {
  models::check_tokenizer_fits(start.folder, *tokenizer_, "vocab_size", model_->vocab());
}

std::unique_ptr<models::CausalLM> PretrainedDecoder::take_model() {
  if (start_.adapters) begin_adapters(models::adapter_part(*model_), *start_.adapters);
  if (!start_.freeze.empty()) freeze_parameters(*model_, start_.freeze);
  model_->train();
  return std::move(model_);
}

void PretrainedDecoder::save_adapters(const std::string& folder, models::CausalLM& model) const {
  train::save_adapters(folder, models::adapter_part(model), start_.folder);
}

nn::StateDict PretrainedDecoder::load_adapters(const std::string& folder, models::CausalLM& model) const {
  return with_adapters(model.state_dict(), folder, models::adapter_part(model));
}

}  // namespace tape::train
